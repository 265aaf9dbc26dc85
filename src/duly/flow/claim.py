"""Claim: take due runs for a worker, and drop those that their job no longer wants.

The claim is one transaction of the runs database; what it takes is ours until settled or lost. The
look at the jobs comes after it, in the other database: an edit, pause or delete that was answered
before the look is always seen. A crash in between leaves running rows without a command; the sweep
finds them when the worker's lease ends.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from duly.events import Event, OverlapSkipped
from duly.job import Job
from duly.policy import void_reason
from duly.run import ClaimedRun, Outcome, Status
from duly.store import JobStore, RunStore, Settlement


@dataclass(frozen=True, slots=True)
class Assignment:
    """A run and the job it belongs to, ready to be executed."""

    run: ClaimedRun
    job: Job


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a worker is to execute, and when the next run of its queues falls due."""

    assignments: list[Assignment]
    next_due: datetime | None
    events: tuple[Event, ...] = ()


class KnownJobs:
    """Jobs as a worker last read them. Each is used only while its version is the present one.

    A job that runs every second is read once, not every second: when two hundred fall due
    together, reading them would be most of the lateness of the first.
    """

    def __init__(self, most: int = 10_000) -> None:
        self._jobs: dict[int, Job] = {}
        self._most = most

    async def look_up(self, jobs: JobStore, job_ids: Collection[int]) -> Mapping[int, Job]:
        """The jobs as they are now; those that do not exist are missing."""
        versions = await jobs.versions(list(job_ids))
        changed = [
            job_id
            for job_id, version in versions.items()
            if (job := self._jobs.get(job_id)) is None or job.version != version
        ]
        if changed:
            if len(self._jobs) + len(changed) > self._most:
                self._jobs.clear()
            self._jobs.update(await jobs.get_many(changed))
        return {job_id: self._jobs[job_id] for job_id in versions if job_id in self._jobs}


async def claim(
    jobs: JobStore,
    runs: RunStore,
    known: KnownJobs,
    *,
    worker: str,
    queues: Sequence[str],
    limit: int,
) -> Claimed:
    """Take up to `limit` due runs, by the runs database's own clock."""
    taken = await runs.claim(worker, queues, limit=limit)
    events = tuple(OverlapSkipped(key) for key in taken.skipped)
    if not taken.runs:
        return Claimed([], taken.next_due, events)
    found = await known.look_up(jobs, {run.job_id for run in taken.runs})
    assignments = []
    void = []
    for run in taken.runs:
        job = found.get(run.job_id)
        reason = void_reason(run, job)
        if reason is None and job is not None:
            assignments.append(Assignment(run, job))
        else:
            void.append((run, reason))
    if void:
        at = await runs.now()
        await runs.settle([_canceled(run, reason, at) for run, reason in void])
    return Claimed(assignments, taken.next_due, events)


def _canceled(run: ClaimedRun, reason: str | None, at: datetime) -> Settlement:
    return Settlement(
        key=run.key,
        token=run.token,
        attempt=run.attempt,
        outcome=Outcome.CANCELED,
        status=Status.CANCELED,
        finished_at=at,
        counts=False,
        reason=reason,
    )
