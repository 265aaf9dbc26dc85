"""Planning: the horizon, repeated and crashed plans, missed slots, terms."""

from __future__ import annotations

from datetime import timedelta

import pytest

from duly.flow.plan import plan
from duly.job import JobState, Missed, MissedPolicy
from duly.policy import COUNT_LIMIT
from duly.run import Status
from tests.unit.flow.plant import Plant, at, slots

pytestmark = pytest.mark.anyio

QUEUED, SKIPPED = Status.QUEUED, Status.SKIPPED


def missed(policy: str, *, grace_s: float = 60, window_s: float = 86_400) -> Missed:
    return Missed(MissedPolicy(policy), timedelta(seconds=grace_s), timedelta(seconds=window_s))


async def test_planning_early_is_not_starting_early(plant: Plant) -> None:
    plant.horizon = timedelta(seconds=15)
    job = await plant.register("every minute")
    await plant.tick(at(1, 59, 59))
    assert (await plant.run(job, at(2, 0))).status is QUEUED
    assert await plant.work() == []
    assert slots(await plant.work(at(2, 0))) == [at(2, 0)]


async def test_a_crash_between_save_and_move_repeats_the_save_and_changes_nothing(
    plant: Plant,
) -> None:
    """L010: the run is saved first, so the slot cannot be lost; the key refuses the second row."""
    job = await plant.register("every minute")
    # A leader whose term is over saves, and cannot move: what a crash after the save leaves.
    old = plant.term
    plant.term = await plant.jobs.take_over("next")
    crashed = await plan(
        plant.jobs, plant.runs, term=old, now=at(2, 0), horizon=timedelta(0), batch=10
    )
    assert (crashed.read, crashed.moved) == (1, 0)
    assert (await plant.job(job)).next_run_at == at(2, 0)
    await plant.tick(at(2, 0))
    assert await plant.told() == [(at(2, 0), QUEUED, 1)]
    assert (await plant.job(job)).next_run_at == at(2, 1)


async def test_a_stepped_clock_plans_nothing_twice(plant: Plant) -> None:
    """L005, L006: next follows from the slot, and the key makes a second plan a no-op."""
    await plant.register("every minute")
    for now in (at(2, 0), at(2, 1), at(1, 58), at(2, 1), at(2, 2)):
        await plant.tick(now)
    assert await plant.told() == [(at(2, m), QUEUED, 1) for m in range(3)]


async def test_a_new_leader_takes_up_from_the_table(plant: Plant) -> None:
    """L003: what fell due while no one led gets its run."""
    await plant.register("every minute")
    await plant.tick(at(2, 0))
    plant.term = await plant.jobs.take_over("next")
    await plant.tick(at(2, 1, 30))
    assert await plant.told() == [(at(2, 0), QUEUED, 1), (at(2, 1), QUEUED, 1)]


async def test_latest_runs_once_for_all_and_one_row_tells_of_the_rest(plant: Plant) -> None:
    """L008, L009: 101 minutes of outage."""
    job = await plant.register("every minute", missed=missed("latest"))
    await plant.tick(at(3, 41, 30))
    assert await plant.told() == [(at(2, 0), SKIPPED, 101), (at(3, 41), QUEUED, 1)]
    row = await plant.run(job, at(2, 0))
    assert (row.reason, row.last_slot) == (
        "missed, the latest runs for all: 101 slots",
        at(3, 40),
    )
    assert (await plant.job(job)).next_run_at == at(3, 42)


async def test_skip_goes_on_from_now_and_one_row_tells_of_the_missed(plant: Plant) -> None:
    job = await plant.register("every minute", missed=missed("skip"))
    await plant.tick(at(3, 41, 30))
    told = await plant.told()
    assert told == [(at(2, 0), SKIPPED, 101), (at(3, 41), QUEUED, 1)]
    assert (await plant.run(job, at(2, 0))).reason == "missed, policy skip: 101 slots"


async def test_catch_up_runs_each_missed_slot_oldest_first(plant: Plant) -> None:
    await plant.register("every minute", missed=missed("catch_up"))
    await plant.tick(at(2, 10, 30))
    assert await plant.told() == [(at(2, m), QUEUED, 1) for m in range(11)]


async def test_catch_up_reaches_no_further_back_than_its_window(plant: Plant) -> None:
    job = await plant.register("every minute", missed=missed("catch_up", window_s=300))
    await plant.tick(at(2, 10, 30))
    expected = [(at(2, 0), SKIPPED, 6)] + [(at(2, m), QUEUED, 1) for m in range(6, 11)]
    assert await plant.told() == expected
    assert "older than the window of 0:05:00" in str((await plant.run(job, at(2, 0))).reason)


async def test_a_job_that_never_ran_is_missed_like_any_other(plant: Plant) -> None:
    """L012: missed is judged by next_run_at, not by a last success."""
    await plant.register("daily 02:00", missed=missed("latest"))
    await plant.tick(at(9, 0))
    assert await plant.told() == [(at(2, 0), QUEUED, 1)]


async def test_a_restored_backup_does_not_burst(plant: Plant) -> None:
    """L014: two days old; what the policy skips is skipped, in one row."""
    await plant.register("every 5 minutes", missed=missed("skip"))
    await plant.tick(at(2, 2, day=26))
    assert await plant.told() == [(at(2, 0), SKIPPED, 577)]


async def test_counting_is_bounded_and_says_so(plant: Plant) -> None:
    job = await plant.register("every second", missed=missed("skip"))
    await plant.tick(at(2, 0, day=27))
    row = await plant.run(job, at(2, 0))
    assert (row.slots, row.reason) == (
        COUNT_LIMIT,
        f"missed, policy skip: at least {COUNT_LIMIT} slots",
    )
    assert row.last_slot == at(1, 58, 59, day=27)
    assert (await plant.job(job)).next_run_at == at(2, 0, 1, day=27)


async def test_a_weekly_interval_does_not_hang_on_the_start_of_a_process(plant: Plant) -> None:
    """L013: the next time stands in the table and on the clock's own weeks."""
    job = await plant.register("every week")
    for day in (24, 25, 26):
        await plant.tick(at(0, 0, day=day))
    assert await plant.told() == [(at(0, 0, day=26), QUEUED, 1)]
    assert (await plant.job(job)).next_run_at == at(0, 0, day=26) + timedelta(weeks=1)


async def test_jitter_moves_the_start_and_not_the_slot(plant: Plant) -> None:
    plant.horizon = timedelta(seconds=15)
    job = await plant.register("every 10 minutes", jitter=timedelta(minutes=5))
    offset = (await plant.job(job)).jitter_offset
    assert timedelta(0) <= offset < timedelta(minutes=5)
    await plant.tick(at(2, 0) + offset)
    run = await plant.run(job, at(2, 0))
    assert (run.key.scheduled_for, run.due_at) == (at(2, 0), at(2, 0) + offset)
    assert (await plant.job(job)).next_run_at == at(2, 10) + offset


async def test_bounds_are_kept(plant: Plant) -> None:
    job = await plant.register("every minute", starts_at=at(2, 2), ends_at=at(2, 4))
    for minute in range(8):
        await plant.tick(at(2, minute))
    assert await plant.told() == [(at(2, m), QUEUED, 1) for m in (2, 3, 4)]
    assert (await plant.job(job)).state is JobState.ENDED
