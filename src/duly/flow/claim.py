"""Claim: take due runs for a worker, then drop those that their job no longer wants.

    take ──► runs in our name ──► assign ──► commands to start

Taking is one transaction of the runs database; what it takes is ours until settled or lost. The
look at the jobs comes after it, in the other database: an edit, pause or delete that was answered
before the look is always seen. Where the jobs database does not answer, the same runs are assigned
later; where the worker dies in between, the sweep finds them when its lease ends.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from duly.clock import micros
from duly.events import Event, OverlapSkipped
from duly.executor import Order
from duly.job import Task
from duly.policy import void_reason
from duly.run import ClaimedRun, Outcome, Status
from duly.store import JobStore, RunStore, Settlement


@dataclass(frozen=True, slots=True)
class Taken:
    """Runs that are now ours.

    Args:
        next_due: when the next run of these queues falls due.
        now: the present, by the runs database.
        more: as many as were asked for came, so more may be due.
    """

    runs: list[ClaimedRun]
    next_due: datetime | None
    now: datetime
    more: bool = False
    events: tuple[Event, ...] = ()


class KnownTasks:
    """Jobs as a worker last read them. Each is used only while its version is the present one.

    A job that runs every second is read once, not every second: when two hundred fall due
    together, reading them would be most of the lateness of the first.
    """

    def __init__(self, most: int = 10_000) -> None:
        self._tasks: dict[int, Task] = {}
        self._most = most

    async def look_up(self, jobs: JobStore, job_ids: Collection[int]) -> Mapping[int, Task]:
        """The jobs as they are now; those that do not exist are missing."""
        known = [job_id for job_id in job_ids if job_id in self._tasks]
        versions = await jobs.versions(known) if known else {}
        found = {
            job_id: task
            for job_id, version in versions.items()
            if (task := self._tasks[job_id]).version == version
        }
        others = [job_id for job_id in job_ids if job_id not in found]
        if others:
            read = await jobs.tasks(others)
            if len(self._tasks) + len(read) > self._most:
                self._tasks.clear()
            self._tasks |= read
            found |= read
        return found


async def take(runs: RunStore, *, worker: str, queues: Sequence[str], limit: int) -> Taken:
    """Take up to `limit` due runs, by the runs database's own clock."""
    claim = await runs.claim(worker, queues, limit=limit)
    events = tuple(OverlapSkipped(key) for key in claim.skipped)
    more = len(claim.runs) + len(events) == limit
    return Taken(claim.runs, claim.next_due, claim.now, more, events)


async def assign(
    jobs: JobStore, runs: RunStore, known: KnownTasks, taken: Sequence[ClaimedRun]
) -> list[Order]:
    """Pair taken runs with their jobs; cancel those that are void. Can be repeated if it fails."""
    found = await known.look_up(jobs, {run.job_id for run in taken})
    orders = []
    void = []
    for run in taken:
        job = found.get(run.job_id)
        reason = void_reason(run, job)
        if reason is None and job is not None:
            orders.append(Order(run, job))
        else:
            void.append((run, reason))
    if void:
        at_us = micros(await runs.now())
        await runs.settle([_canceled(run, reason, at_us) for run, reason in void])
    return orders


def _canceled(run: ClaimedRun, reason: str | None, at_us: int) -> Settlement:
    return Settlement(
        run, Outcome.CANCELED, Status.CANCELED, finished_us=at_us, counts=False, reason=reason
    )
