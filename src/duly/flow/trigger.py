"""Trigger: start a run now, outside the schedule, because a person said so.

Its slot is the moment of the request, so it has a key like every run. Saving it twice under the
same moment is one run; a request with an Idempotency-Key keeps its moment and thus its run.
"""

from __future__ import annotations

from datetime import datetime

from duly.clock import micros
from duly.errors import NoSuchJob
from duly.job import JobState, Overlap, job_ref
from duly.run import PlannedRun, RunKey
from duly.store import JobStore, RunStore


async def trigger(jobs: JobStore, runs: RunStore, job_id: int, *, now: datetime) -> RunKey:
    """Queue a run of the job for `now`. A paused or ended job can be run too; a deleted one not.

    Raises:
        NoSuchJob: there is no such job.
    """
    job = await jobs.get(job_id)
    if job is None or job.state is JobState.DELETED:
        raise NoSuchJob(f"there is no job {job_ref(job_id)}")
    row = PlannedRun(
        job_id=job.id,
        slot_us=micros(now),
        due_us=micros(now),
        queue=job.spec.queue,
        priority=job.spec.priority,
        exclusive=job.spec.overlap is Overlap.SKIP,
        schedule_version=job.schedule_version,
        manual=True,
    )
    await runs.save([row])
    return RunKey(job.id, now)
