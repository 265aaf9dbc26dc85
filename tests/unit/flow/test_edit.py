"""Edit, pause, resume, delete: what was planned from the old self is void, and says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from duly.clock import micros
from duly.errors import NameTaken, NeverFires, NoSuchJob
from duly.flow.edit import delete, edit, pause, resume
from duly.flow.trigger import trigger
from duly.job import Job, JobState
from duly.run import Status
from duly.store import Move
from tests.unit.flow.plant import Plant, at, slots

pytestmark = pytest.mark.anyio


async def change(plant: Plant, job: Job, **fields: object) -> Job:
    edited = await edit(
        plant.jobs,
        plant.runs,
        job.id,
        lambda spec: replace(spec, **fields),  # type: ignore[arg-type]
        now=plant.clock.now(),
    )
    return edited.job


async def test_a_slot_planned_before_the_edit_does_not_run_after_it(plant: Plant) -> None:
    """L015: daily becomes weekdays on a Friday evening, Saturday's run already planned."""
    plant.horizon = timedelta(days=1)
    job = await plant.register("daily 07:00")
    await plant.tick(at(18, 0, day=23))
    await change(plant, job, schedule="weekdays 07:00")
    assert await plant.work(at(7, 0)) == []
    saturday = await plant.run(job, at(7, 0))
    assert (saturday.status, saturday.reason) == (
        Status.CANCELED,
        "the job's schedule was edited",
    )


async def test_a_new_schedule_owes_nothing_for_the_time_before_it(plant: Plant) -> None:
    """L016: 19:00 becomes 21:00 at 20:00; no missed run of yesterday 21:00."""
    job = await plant.register("daily 19:00")
    await plant.tick(at(19, 0))
    plant.clock.set(at(20, 0))
    edited = await change(plant, job, schedule="daily 21:00")
    assert edited.next_run_at == at(21, 0)
    await plant.tick(at(21, 0))
    assert [slot for slot, _, _ in await plant.told()] == [at(19, 0), at(21, 0)]


async def test_an_edit_of_anything_but_the_timing_leaves_what_is_planned(plant: Plant) -> None:
    """L017."""
    job = await plant.register("every minute", jitter=timedelta(seconds=30))
    offset = job.jitter_offset
    await plant.tick(at(2, 0, 30))
    same = await change(plant, job, schedule="every minute")
    other = await change(plant, job, queue="slow", priority=1)
    assert (same.version, same.schedule_version) == (1, 1)
    assert (other.version, other.schedule_version, other.jitter_offset) == (2, 1, offset)
    assert slots(await plant.work(at(2, 1))) == [at(2, 0)]


async def test_a_run_that_was_due_before_the_edit_stays(plant: Plant) -> None:
    job = await plant.register("every minute")
    await plant.tick(at(2, 0))
    plant.clock.set(at(2, 0, 10))
    await change(plant, job, schedule="every 2 minutes")
    assert slots(await plant.work()) == [at(2, 0)]


async def test_a_shortened_interval_runs_at_its_next_multiple(plant: Plant) -> None:
    """L018: not at once, not for the past, not after the old interval."""
    job = await plant.register("every 12 hours")
    plant.clock.set(at(3, 0, 20))
    assert (await change(plant, job, schedule="every minute")).next_run_at == at(3, 1)
    await plant.tick(at(3, 0, 30))
    assert await plant.told() == []


async def test_a_batch_read_before_the_edit_cannot_move_the_job(plant: Plant) -> None:
    """L019."""
    job = await plant.register("every minute")
    (held,) = await plant.jobs.due(at(2, 0), limit=10)
    await change(plant, job, schedule="daily 05:00")
    stale = Move(micros(at(2, 1)), held.schedule_version, held.job_ids, [0])
    assert await plant.jobs.advance([stale], term=plant.term) == 0
    assert (await plant.job(job)).next_run_at == at(5, 0)


async def test_a_run_saved_from_a_stale_batch_is_canceled_by_the_worker(plant: Plant) -> None:
    """The planner's save came after the edit's void: the worker sees the older version."""
    plant.horizon = timedelta(minutes=5)
    job = await plant.register("daily 02:03")
    await plant.tick(at(2, 0))
    edited = replace(
        await plant.job(job),
        schedule_version=2,
        next_run_at=at(5, 0),
        changed_at=at(2, 1),
    )
    await plant.jobs.replace(edited, expected_version=1)
    assert await plant.work(at(2, 3)) == []
    run = await plant.run(job, at(2, 3))
    assert (run.status, run.attempts) == (Status.CANCELED, 0)


async def test_a_slot_that_both_schedules_name_is_planned_again(plant: Plant) -> None:
    plant.horizon = timedelta(minutes=5)
    job = await plant.register("every minute")
    await plant.tick(at(2, 0))
    await change(plant, job, schedule="every 2 minutes")
    await plant.tick(at(2, 0))
    told = {slot.minute: status for slot, status, _ in await plant.told()}
    assert told == {
        0: Status.QUEUED,  # due before the edit
        1: Status.CANCELED,
        2: Status.QUEUED,
        3: Status.CANCELED,
        4: Status.QUEUED,
        5: Status.CANCELED,
    }


async def test_a_pause_stops_what_has_not_started(plant: Plant) -> None:
    """L020: between reading due jobs and starting."""
    plant.horizon = timedelta(minutes=2)
    job = await plant.register("every minute")
    await plant.tick(at(2, 0))
    await pause(plant.jobs, plant.runs, job.id, now=plant.clock.now())
    assert await plant.work(at(2, 3)) == []
    assert {(run.status, run.reason) for run in await plant.history()} == {
        (Status.CANCELED, "the job is paused")
    }


async def test_a_run_that_goes_on_ends_normally_and_leaves_the_pause(plant: Plant) -> None:
    """L021."""
    job = await plant.register("every minute")
    await plant.tick(at(2, 0))
    (going,) = await plant.work()
    await pause(plant.jobs, plant.runs, job.id, now=plant.clock.now())
    await plant.end(going)
    assert (await plant.run(job, at(2, 0))).status is Status.SUCCEEDED
    assert (await plant.job(job)).state is JobState.PAUSED


async def test_a_resume_goes_on_at_the_next_slot_and_one_row_tells_of_the_pause(
    plant: Plant,
) -> None:
    """L022."""
    job = await plant.register("every minute")
    await plant.tick(at(2, 0))
    await plant.work()
    plant.clock.set(at(2, 0, 30))
    await pause(plant.jobs, plant.runs, job.id, now=plant.clock.now())
    plant.clock.set(at(2, 10, 30))
    resumed = await resume(plant.jobs, plant.runs, job.id, now=plant.clock.now())
    assert resumed.job.next_run_at == at(2, 11)
    await plant.tick(at(2, 11))
    assert await plant.told() == [
        (at(2, 0), Status.RUNNING, 1),
        (at(2, 1), Status.SKIPPED, 10),
        (at(2, 11), Status.QUEUED, 1),
    ]
    assert (await plant.run(job, at(2, 1))).reason == "the job was paused: 10 slots"


async def test_pause_and_resume_within_the_horizon_revive_what_was_planned(plant: Plant) -> None:
    plant.horizon = timedelta(minutes=2)
    job = await plant.register("every minute")
    await plant.tick(at(1, 59, 59))
    await pause(plant.jobs, plant.runs, job.id, now=plant.clock.now())
    await resume(plant.jobs, plant.runs, job.id, now=plant.clock.now())
    await plant.tick(at(1, 59, 59))
    assert slots(await plant.work(at(2, 0))) == [at(2, 0)]


async def test_pausing_twice_and_resuming_twice_is_once(plant: Plant) -> None:
    job = await plant.register("every minute")
    now = plant.clock.now()
    first = await pause(plant.jobs, plant.runs, job.id, now=now)
    second = await pause(plant.jobs, plant.runs, job.id, now=now)
    assert first.job == second.job
    again = await resume(plant.jobs, plant.runs, job.id, now=now)
    assert (await resume(plant.jobs, plant.runs, job.id, now=now)).job == again.job


async def test_an_edit_while_paused_keeps_the_pause(plant: Plant) -> None:
    job = await plant.register("every minute")
    await pause(plant.jobs, plant.runs, job.id, now=plant.clock.now())
    edited = await change(plant, job, schedule="daily 05:00")
    assert (edited.state, edited.next_run_at) == (JobState.PAUSED, None)
    resumed = await resume(plant.jobs, plant.runs, job.id, now=plant.clock.now())
    assert resumed.job.next_run_at == at(5, 0)


async def test_a_job_registered_again_after_its_deletion_starts_anew(plant: Plant) -> None:
    """L023."""
    job = await plant.register("every minute", name="one")
    await delete(plant.jobs, plant.runs, job.id, now=plant.clock.now())
    plant.clock.set(at(2, 30, 30))
    again = await plant.register("every minute", name="one")
    await plant.tick(at(2, 31))
    assert again.id != job.id
    assert [(run.key.job_id, run.key.scheduled_for) for run in await plant.history()] == [
        (again.id, at(2, 31))
    ]


async def test_a_deleted_job_is_no_job_any_more(plant: Plant) -> None:
    job = await plant.register("every minute")
    now = plant.clock.now()
    await delete(plant.jobs, plant.runs, job.id, now=now)
    for verb in (pause, resume, delete):
        with pytest.raises(NoSuchJob):
            await verb(plant.jobs, plant.runs, job.id, now=now)
    with pytest.raises(NoSuchJob):
        await trigger(plant.jobs, plant.runs, job.id, now=now)


async def test_an_edit_to_a_taken_name_or_a_past_time_changes_nothing(plant: Plant) -> None:
    one = await plant.register("every minute", name="one")
    two = await plant.register("every minute", name="two")
    with pytest.raises(NameTaken, match=one.ref):
        await change(plant, two, name="one")
    with pytest.raises(NeverFires, match="has no time after"):
        await change(plant, two, schedule="at 2020-01-01T00:00Z")
    assert await plant.job(two) == two


async def test_changing_the_jitter_picks_again_and_changing_the_schedule_does_not(
    plant: Plant,
) -> None:
    job = await plant.register("daily 05:00", jitter=timedelta(hours=1))
    moved = await change(plant, job, schedule="daily 06:00")
    assert moved.jitter_offset == job.jitter_offset
    picks = {(await change(plant, job, jitter=timedelta(hours=n))).jitter_offset for n in (2, 3, 4)}
    assert picks != {job.jitter_offset}


async def test_a_manual_run_starts_now_whatever_the_schedule_also_when_paused(
    plant: Plant,
) -> None:
    job = await plant.register("daily 05:00")
    await pause(plant.jobs, plant.runs, job.id, now=plant.clock.now())
    key = await trigger(plant.jobs, plant.runs, job.id, now=plant.clock.now())
    (assignment,) = await plant.work()
    assert (assignment.run.key, assignment.run.manual) == (key, True)
    assert await trigger(plant.jobs, plant.runs, job.id, now=key.scheduled_for) == key
    assert len(await plant.history()) == 1


async def test_a_manual_run_outlives_an_edit_and_a_pause(plant: Plant) -> None:
    job = await plant.register("daily 05:00")
    await trigger(plant.jobs, plant.runs, job.id, now=plant.clock.now())
    await change(plant, job, schedule="daily 06:00")
    await pause(plant.jobs, plant.runs, job.id, now=plant.clock.now())
    assert len(await plant.work()) == 1
