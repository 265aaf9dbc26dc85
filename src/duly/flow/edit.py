"""Edit, pause, resume, delete: change a job, and void what was planned from its old self.

The job row changes first, under its version, and decides alone. Voiding planned runs comes second,
in the other database; a crash between the two is made good by the worker, which looks at the job's
`schedule_version` before it starts anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from duly.clock import micros
from duly.errors import NameTaken, NoSuchJob
from duly.flow.register import first_run_at, pick_offset
from duly.job import Job, JobSpec, JobState, job_ref
from duly.policy import first_slot, paused_slots
from duly.run import PlannedRun, RunKey, Status
from duly.store import JobStore, NameConflict, RunStore


@dataclass(frozen=True, slots=True)
class Edited:
    """The job as it is now, and the planned runs that the change voided."""

    job: Job
    voided: tuple[RunKey, ...] = ()


async def edit(
    jobs: JobStore,
    runs: RunStore,
    job_id: int,
    change: Callable[[JobSpec], JobSpec],
    *,
    now: datetime,
) -> Edited:
    """Apply `change` to the job's spec.

    A change of timing (schedule, zone, bounds, jitter) starts a new `schedule_version`: the next
    time follows from `now`, and planned runs later than `now` are void. Any other change leaves
    the next time, the jitter's offset and everything planned as they are.

    Raises:
        NoSuchJob, NameTaken, InvalidSchedule, NeverFires.
    """

    def decide(job: Job) -> Job:
        spec = change(job.spec)
        if spec == job.spec:
            return job
        if spec.timing == job.spec.timing:
            return replace(job, spec=spec, updated_at=now)
        offset = job.jitter_offset if spec.jitter == job.spec.jitter else pick_offset(spec.jitter)
        next_run_at = first_run_at(spec, offset, now=now)
        paused = job.state is JobState.PAUSED
        return replace(
            job,
            spec=spec,
            jitter_offset=offset,
            state=JobState.PAUSED if paused else JobState.ACTIVE,
            next_run_at=None if paused else next_run_at,
            schedule_version=job.schedule_version + 1,
            updated_at=now,
            changed_at=now,
        )

    before, job = await _change(jobs, job_id, decide)
    if job.schedule_version == before.schedule_version:
        return Edited(job)
    voided = await runs.void(
        job.id, after=now, version=job.schedule_version, reason="the job's schedule was edited"
    )
    return Edited(job, tuple(voided))


async def pause(jobs: JobStore, runs: RunStore, job_id: int, *, now: datetime) -> Edited:
    """Stop the job until it is resumed: what has not started will not; what runs goes on."""
    return await _stop(jobs, runs, job_id, JobState.PAUSED, "the job is paused", now)


async def delete(jobs: JobStore, runs: RunStore, job_id: int, *, now: datetime) -> Edited:
    """End the job for good. Its history stays, its name is free."""
    return await _stop(jobs, runs, job_id, JobState.DELETED, "the job was deleted", now)


async def resume(jobs: JobStore, runs: RunStore, job_id: int, *, now: datetime) -> Edited:
    """Take up a paused job at its next slot from now; one row tells which slots the pause cost."""

    def decide(job: Job) -> Job:
        if job.state is not JobState.PAUSED:
            return job
        spec = job.spec
        slot = first_slot(spec.parsed(), after=now, starts_at=spec.starts_at, ends_at=spec.ends_at)
        return replace(
            job,
            state=JobState.ENDED if slot is None else JobState.ACTIVE,
            next_run_at=None if slot is None else slot + job.jitter_offset,
            schedule_version=job.schedule_version + 1,
            updated_at=now,
            changed_at=now,
        )

    before, job = await _change(jobs, job_id, decide)
    if job is not before:
        await _tell_paused_slots(runs, before, job, now)
    return Edited(job)


async def _stop(
    jobs: JobStore, runs: RunStore, job_id: int, state: JobState, reason: str, now: datetime
) -> Edited:
    def decide(job: Job) -> Job:
        if job.state is state:
            return job
        return replace(
            job,
            state=state,
            next_run_at=None,
            schedule_version=job.schedule_version + 1,
            updated_at=now,
            changed_at=now,
        )

    before, job = await _change(jobs, job_id, decide)
    if job is before:
        return Edited(job)
    voided = await runs.void(job.id, after=None, version=job.schedule_version, reason=reason)
    return Edited(job, tuple(voided))


async def _tell_paused_slots(runs: RunStore, before: Job, job: Job, now: datetime) -> None:
    spec = before.spec
    schedule = spec.parsed()
    first = first_slot(
        schedule, after=before.changed_at, starts_at=spec.starts_at, ends_at=spec.ends_at
    )
    if first is None:
        return
    skipped = paused_slots(schedule, first, until=now, ends_at=spec.ends_at)
    if skipped is None:
        return
    row = PlannedRun(
        job_id=job.id,
        slot_us=micros(skipped.first),
        due_us=micros(skipped.first + job.jitter_offset),
        queue=spec.queue,
        priority=spec.priority,
        exclusive=False,
        schedule_version=before.schedule_version,
        status=Status.SKIPPED.value,
        reason=skipped.reason,
        slots=skipped.count,
        last_slot_us=micros(skipped.last),
    )
    await runs.save([row])


async def _change(jobs: JobStore, job_id: int, decide: Callable[[Job], Job]) -> tuple[Job, Job]:
    """Read, decide, write under the version read; again where someone else came first."""
    while True:
        before = await jobs.get(job_id)
        if before is None or before.state is JobState.DELETED:
            raise NoSuchJob(f"there is no job {job_ref(job_id)}")
        after = decide(before)
        if after == before:
            return before, before
        written = await jobs.replace(after, expected_version=before.version)
        if isinstance(written, NameConflict):
            raise NameTaken(after.spec.name or "", job_ref(written.job_id))
        if written is not None:
            return before, written
