"""The plan of six jobs, tick by tick, with horizon 0."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from duly.backends.sqlite import SqliteJobStore, SqliteRunStore
from duly.clock import ManualClock
from duly.flow.plan import plan
from duly.flow.register import register
from duly.job import Command, JobSpec, JobState
from duly.run import Run
from duly.store import JobStore, RunFilter, RunStore

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


def at(hour: int, minute: int, day: int = 24) -> datetime:
    return datetime(2026, 10, day, hour, minute, tzinfo=UTC)


class Plant:
    """The six jobs in real stores, at 01:59:59."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock(at(2, 0) - timedelta(seconds=1))
        self.jobs: JobStore = SqliteJobStore(folder / "jobs.db", self.clock)
        self.runs: RunStore = SqliteRunStore(folder / "runs.db", self.clock)
        self.ids: dict[int, str] = {}
        self.term = 0

    async def tick(self, now: datetime) -> str:
        """One tick; the names of the jobs that got a run for this minute, and nothing else."""
        self.clock.set(now)
        before = {run.key for run in await self.history()}
        while (
            await plan(self.jobs, self.runs, term=self.term, now=now, horizon=timedelta(0))
        ).read:
            pass
        saved = [run for run in await self.history() if run.key not in before]
        assert {run.key.scheduled_for for run in saved} <= {now}
        return "".join(sorted(self.ids[run.key.job_id] for run in saved))

    async def history(self) -> list[Run]:
        return await self.runs.history(RunFilter(), limit=1000)


@pytest.fixture
async def plant(tmp_path: Path) -> AsyncIterator[Plant]:
    plant = Plant(tmp_path)
    plant.term = await plant.jobs.take_over("test")
    for name, schedule in SCHEDULES.items():
        spec = JobSpec(schedule=schedule, command=Command(name="x"), name=name)
        added = await register(plant.jobs, "ops", spec, now=plant.clock.now())
        plant.ids[added.job.id] = name
    yield plant
    await plant.jobs.close()
    await plant.runs.close()


async def test_each_minute_saves_the_runs_it_should(plant: Plant) -> None:
    assert {m: await plant.tick(at(2, m)) for m in range(7)} == EXPECTED
    known = await plant.jobs.get_many(list(plant.ids))
    assert {plant.ids[i]: (job.state, job.next_run_at) for i, job in known.items()} == {
        "A": (JobState.ACTIVE, at(2, 8)),
        "B": (JobState.ACTIVE, at(2, 9)),
        "C": (JobState.ACTIVE, at(2, 10)),
        "D": (JobState.ACTIVE, at(2, 3, day=25)),
        "E": (JobState.ENDED, None),
        "F": (JobState.ACTIVE, at(0, 0, day=25)),
    }


async def test_a_second_tick_of_the_same_minute_changes_nothing(plant: Plant) -> None:
    for minute in range(7):
        await plant.tick(at(2, minute))
        assert await plant.tick(at(2, minute)) == ""


async def test_one_late_tick_finds_what_seven_would_have(plant: Plant) -> None:
    """Within the grace of a minute nothing is missed; `<=` finds what an `=` would not."""
    for minute in range(6):
        await plant.tick(at(2, minute))
    assert await plant.tick(at(2, 6)) == "AB"
    assert len(await plant.history()) == sum(map(len, EXPECTED.values()))
