"""Tries, their waits, dead letters, and the runs of lost workers."""

from __future__ import annotations

from datetime import timedelta

import pytest

from duly.events import ResultDiscarded, RunEnded
from duly.executor import Result
from duly.flow.finish import Ended, finish
from duly.flow.rescue import rescue
from duly.job import Retry
from duly.policy import backoff
from duly.run import Outcome, Status
from tests.unit.flow.plant import Plant, at, slots

pytestmark = pytest.mark.anyio

FAILED, LOST = Outcome.FAILED, Outcome.LOST


async def test_four_tries_one_two_and_four_minutes_apart_then_dead(plant: Plant) -> None:
    job = await plant.register("daily 02:00")
    await plant.tick(at(2, 0))
    starts = []
    for minute in range(10):
        for assignment in await plant.work(at(2, minute)):
            starts.append((assignment.run.attempt, minute))
            await plant.end(assignment, FAILED)
    run = await plant.run(job, at(2, 0))
    assert starts == [(1, 0), (2, 1), (3, 3), (4, 7)]
    assert (run.status, run.attempts) == (Status.DEAD, 4)
    assert [(t.attempt, t.outcome) for t in await plant.runs.tries(run.key)] == [
        (n, FAILED) for n in (1, 2, 3, 4)
    ]


async def test_timeouts_and_losses_count_like_failures(plant: Plant) -> None:
    """W015, W023."""
    job = await plant.register("daily 02:00", retry=Retry(tries=2))
    await plant.tick(at(2, 0))
    (first,) = await plant.work(at(2, 0))
    await plant.end(first, Outcome.TIMED_OUT)
    await plant.work(at(2, 1))
    plant.clock.set(at(2, 9))
    await rescue(plant.jobs, plant.runs, silent_for=timedelta(minutes=2))
    run = await plant.run(job, at(2, 0))
    assert (run.status, run.attempts) == (Status.DEAD, 2)
    assert run.reason == "lost with its worker w"


async def test_a_success_after_a_failure_ends_the_run(plant: Plant) -> None:
    job = await plant.register("daily 02:00")
    await plant.tick(at(2, 0))
    (first,) = await plant.work(at(2, 0))
    await plant.end(first, FAILED)
    (second,) = await plant.work(at(2, 1))
    await plant.end(second)
    run = await plant.run(job, at(2, 0))
    assert (run.status, run.attempts) == (Status.SUCCEEDED, 2)


async def test_a_lost_run_is_taken_up_at_once(plant: Plant) -> None:
    """W012."""
    job = await plant.register("daily 02:00")
    await plant.tick(at(2, 0))
    (lost,) = await plant.work(at(2, 0))
    events = await rescue(plant.jobs, plant.runs, silent_for=timedelta(minutes=2))
    (again,) = await plant.work()
    assert len(events) == 1
    assert (again.run.key, again.run.attempt) == (lost.run.key, 2)
    assert again.run.token > lost.run.token
    assert [t.outcome for t in await plant.runs.tries(lost.run.key)] == [LOST]
    assert (await plant.job(job)).id == job.id


async def test_the_result_of_a_lost_try_is_discarded_and_told(plant: Plant) -> None:
    """W014."""
    job = await plant.register("daily 02:00")
    await plant.tick(at(2, 0))
    (lost,) = await plant.work(at(2, 0))
    await rescue(plant.jobs, plant.runs, silent_for=timedelta(minutes=2))
    late = Result(Outcome.SUCCEEDED, plant.clock.now_us(), plant.clock.now_us(), exit_code=0)
    events = await finish(plant.runs, [Ended(lost.run, job.spec.retry, late)])
    assert events == [ResultDiscarded(lost.run.key, 1, lost.run.token)]
    assert (await plant.run(job, at(2, 0))).status is Status.QUEUED


@pytest.mark.parametrize("outcome", [Outcome.SUCCEEDED, FAILED, Outcome.INTERRUPTED])
async def test_a_result_whose_answer_was_lost_is_found_stored(
    plant: Plant, outcome: Outcome
) -> None:
    """L027: the worker tells the database again; nothing of it is told as discarded."""
    job = await plant.register("daily 02:00")
    await plant.tick(at(2, 0))
    (claimed,) = await plant.work(at(2, 0))
    result = Result(outcome, plant.clock.now_us(), plant.clock.now_us())
    ended = Ended(claimed.run, job.spec.retry, result)
    events = await finish(plant.runs, [ended])
    assert isinstance(events[0], RunEnded)
    assert await finish(plant.runs, [ended]) == events
    other = ended._replace(result=result._replace(outcome=Outcome.TIMED_OUT))
    assert await finish(plant.runs, [other]) == [
        ResultDiscarded(claimed.run.key, 1, claimed.run.token)
    ]


async def test_a_job_that_is_not_safe_to_repeat_is_tried_once(plant: Plant) -> None:
    for outcome in (FAILED, LOST, Outcome.INTERRUPTED):
        job = await plant.register("daily 02:00", retry=Retry.never())
        await plant.tick(at(2, 0))
        (only,) = await plant.work(at(2, 0))
        if outcome is LOST:
            await rescue(plant.jobs, plant.runs, silent_for=timedelta(minutes=2))
        else:
            await plant.end(only, outcome)
        run = await plant.run(job, at(2, 0))
        assert (run.status, run.attempts) == (Status.DEAD, 1)
        plant.clock.set(at(1, 59, 59))
    assert "not safe to repeat" in str(
        [run.reason for run in await plant.history() if "lost" in str(run.reason)]
    )


async def test_an_interrupted_try_costs_nothing_however_often(plant: Plant) -> None:
    """W018, W019."""
    job = await plant.register("daily 02:00", retry=Retry(tries=1))
    await plant.tick(at(2, 0))
    for _ in range(3):
        (assignment,) = await plant.work(at(2, 0))
        assert assignment.run.attempt == 1
        await plant.end(assignment, Outcome.INTERRUPTED)
    run = await plant.run(job, at(2, 0))
    assert (run.status, run.attempts, run.interruptions) == (Status.QUEUED, 0, 3)


async def test_a_run_that_outlasts_its_interval_never_overlaps(plant: Plant) -> None:
    """W020: each skipped slot is a row that names the run in the way."""
    job = await plant.register("every minute")
    await plant.tick(at(2, 0))
    (going,) = await plant.work(at(2, 0))
    for minute in (1, 2, 3):
        await plant.tick(at(2, minute))
        assert await plant.work(at(2, minute)) == []
    await plant.end(going)
    await plant.tick(at(2, 4))
    assert slots(await plant.work(at(2, 4))) == [at(2, 4)]
    reasons = [(await plant.run(job, at(2, m))).reason for m in (1, 2, 3)]
    assert reasons == [f"overlap: {going.run.key} was still running"] * 3


async def test_the_guard_is_freed_when_the_run_in_the_way_is_lost_for_good(plant: Plant) -> None:
    """W021."""
    await plant.register("every minute", retry=Retry(tries=1))
    await plant.tick(at(2, 0))
    await plant.work(at(2, 0))
    await rescue(plant.jobs, plant.runs, silent_for=timedelta(minutes=2))
    await plant.tick(at(2, 1))
    assert slots(await plant.work(at(2, 1))) == [at(2, 1)]


def test_waits_double_up_to_the_cap() -> None:
    retry = Retry(tries=99, backoff=timedelta(minutes=1), cap=timedelta(minutes=10))
    waits = [backoff(retry, attempt) // timedelta(minutes=1) for attempt in (1, 2, 3, 4, 5, 6, 98)]
    assert waits == [1, 2, 4, 8, 10, 10, 10]
