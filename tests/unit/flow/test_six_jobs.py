"""The plan of six jobs, tick by tick, with horizon 0."""

from __future__ import annotations

from datetime import datetime

import pytest

from duly.job import JobState
from tests.unit.flow.plant import Plant, at

pytestmark = pytest.mark.anyio

SCHEDULES = {
    "A": "every 2 minutes",
    "B": "every 3 minutes",
    "C": "every 5 minutes",
    "D": "daily 02:03",
    "E": "at 2026-10-24T02:05",
    "F": "daily 00:00",
}
EXPECTED = {0: "ABC", 1: "", 2: "A", 3: "BD", 4: "A", 5: "CE", 6: "AB"}


async def six_jobs(plant: Plant) -> dict[int, str]:
    return {
        (await plant.register(schedule, name=name)).id: name for name, schedule in SCHEDULES.items()
    }


async def saved(plant: Plant, names: dict[int, str], now: datetime) -> str:
    """One tick: the names of the jobs that got a run, each for this very minute."""
    before = {run.key for run in await plant.history()}
    await plant.tick(now)
    new = [run.key for run in await plant.history() if run.key not in before]
    assert {key.scheduled_for for key in new} <= {now}
    return "".join(sorted(names[key.job_id] for key in new))


async def test_each_minute_saves_the_runs_it_should(plant: Plant) -> None:
    names = await six_jobs(plant)
    assert {m: await saved(plant, names, at(2, m)) for m in range(7)} == EXPECTED
    known = await plant.jobs.get_many(list(names))
    assert {names[n]: (job.state, job.next_run_at) for n, job in known.items()} == {
        "A": (JobState.ACTIVE, at(2, 8)),
        "B": (JobState.ACTIVE, at(2, 9)),
        "C": (JobState.ACTIVE, at(2, 10)),
        "D": (JobState.ACTIVE, at(2, 3, day=25)),
        "E": (JobState.ENDED, None),
        "F": (JobState.ACTIVE, at(0, 0, day=25)),
    }


async def test_a_second_tick_of_the_same_minute_changes_nothing(plant: Plant) -> None:
    names = await six_jobs(plant)
    for minute in range(7):
        await plant.tick(at(2, minute))
        assert await saved(plant, names, at(2, minute)) == ""


async def test_one_late_tick_within_the_grace_finds_what_an_equal_sign_would_miss(
    plant: Plant,
) -> None:
    names = await six_jobs(plant)
    await plant.tick(at(2, 0))
    await plant.tick(at(2, 2, 40))
    history = [(names[run.key.job_id], run.key.scheduled_for) for run in await plant.history()]
    assert history == [("A", at(2, 0)), ("B", at(2, 0)), ("C", at(2, 0)), ("A", at(2, 2))]
