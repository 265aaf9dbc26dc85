"""The runs database, as a contract: the queue of runs to come, and the history of all that were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple, Protocol

from duly.history import Row, Table
from duly.run import ClaimedRun, Outcome, Output, PlannedRun, PlannedSlot, Run, RunKey, Status, Try


@dataclass(frozen=True, slots=True)
class Claim:
    """What a claim brought.

    Args:
        runs: now running in the claimer's name, in order of (priority, due_at).
        skipped: slots that fell to their overlap policy in this claim.
        next_due: when the next queued run of these queues falls due, or None.
        now: the runs database's clock, which `next_due` is to be compared with.
    """

    runs: list[ClaimedRun]
    skipped: list[RunKey]
    next_due: datetime | None
    now: datetime


class Settlement(NamedTuple):
    """The end of one try: the only way out of `running`.

    It takes effect only while the run is running under its token. `counts=False` gives the try
    back. Times are whole microseconds, as in `ClaimedRun`; `due_us` is for what goes back.
    """

    run: ClaimedRun
    outcome: Outcome
    status: Status
    finished_us: int
    started_us: int | None = None
    due_us: int | None = None
    counts: bool = True
    exit_code: int | None = None
    signal: int | None = None
    reason: str | None = None
    output: Output | None = None

    @property
    def plain(self) -> bool:
        """A success at the first try that wrote nothing: what most runs of a busy worker are."""
        return (
            self.status is Status.SUCCEEDED
            and self.run.attempt == 1
            and self.exit_code == 0
            and self.started_us is not None
            and (self.output is None or not self.output.head)
            and self.reason is None
        )


@dataclass(frozen=True, slots=True)
class LostRun:
    """A run whose worker has fallen silent."""

    run: ClaimedRun
    worker: str
    started_us: int


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker as it last reported."""

    id: str
    host: str
    pid: int
    queues: tuple[str, ...]
    concurrency: int
    started_at: datetime
    beat_at: datetime


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs to list; None leaves a field open. Times bound `scheduled_for`, both inclusive."""

    job_id: int | None = None
    status: Status | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Backlog:
    """The run queue at a glance. `oldest_due` belongs to the longest waiting claimable run."""

    counts: dict[Status, int]
    claimable: int
    oldest_due: datetime | None


class RunStore(Protocol):
    """The runs database: the queue of runs to come and the history of all that were."""

    async def now(self) -> datetime:
        """The runs database's clock."""
        ...

    async def save(self, rows: Sequence[PlannedRun], *, now: datetime | None = None) -> int:
        """Save planned rows; the key (job_id, scheduled_for) keeps the first; how many were new.

        A row that an edit voided is taken up again by a plan of a later schedule_version, and
        counts as new.
        """
        ...

    async def save_slots(self, slots: Sequence[PlannedSlot], *, now: datetime | None = None) -> int:
        """`save` for runs to come, a slot of many jobs at a time; how many rows were new."""
        ...

    async def claim(
        self, worker: str, queues: Sequence[str], *, limit: int, now: datetime | None = None
    ) -> Claim:
        """Take up to `limit` due runs, in order of (priority, due_at), each for one claimer only.

        Each gets attempts + 1 and a token above every earlier one. An exclusive run whose job has
        an open run does not start: it becomes `skipped`, its reason naming the run in the way.
        """
        ...

    async def held(self, worker: str) -> list[ClaimedRun]:
        """The runs that are running in the worker's name, also of a claim it never heard of."""
        ...

    async def settle(self, settlements: Sequence[Settlement]) -> list[bool]:
        """End tries; for each, whether the run was still held under that token.

        False changes nothing: the run is no longer the caller's. Every settlement but a success at
        the first try leaves a `Try` row.
        """
        ...

    async def void(
        self, job_id: int, *, after: datetime | None, version: int, reason: str
    ) -> list[RunKey]:
        """Cancel queued scheduled runs of schedule versions below `version`; which.

        With `after`, only those scheduled for later than it. Manual runs stay.
        """
        ...

    async def cancel(self, key: RunKey, *, reason: str, now: datetime | None = None) -> bool:
        """Cancel a run that is still queued; False where it is not."""
        ...

    async def get(self, key: RunKey) -> Run | None: ...

    async def history(
        self, which: RunFilter, *, before: RunKey | None = None, limit: int = 100
    ) -> list[Run]:
        """Runs, newest first by (scheduled_for, job_id), strictly older than the key `before`."""
        ...

    async def tries(self, key: RunKey) -> list[Try]:
        """The run's recorded tries, in order."""
        ...

    async def output(self, key: RunKey, *, attempt: int | None = None) -> Output | None:
        """What a try wrote (the last one that wrote anything, unless told)."""
        ...

    async def beat(self, worker: WorkerInfo, *, now: datetime | None = None) -> None:
        """Renew the worker's lease, or begin it."""
        ...

    async def end_worker(self, worker: str) -> None:
        """End the worker's lease at once; its runs count as lost from here on."""
        ...

    async def workers(self) -> list[WorkerInfo]: ...

    async def lost(
        self, *, silent_for: timedelta, limit: int, now: datetime | None = None
    ) -> list[LostRun]:
        """Running runs whose worker has no lease, or has been silent longer than that."""
        ...

    async def backlog(self, *, now: datetime | None = None) -> Backlog: ...

    async def make_room(self, until: datetime) -> None:
        """Prepare for runs up to that time, so that filing the first of a day waits for nothing."""
        ...

    async def days(self, before: datetime, *, limit: int) -> list[date]:
        """Days in UTC that ended by `before` and of which runs are over, the oldest first."""
        ...

    async def export(
        self, table: Table, day: date, *, after: Row | None = None, limit: int
    ) -> list[Row]:
        """Rows of runs that are over, scheduled for that day, as `duly.archive.COLUMNS` has them.

        Sorted by job, time and token; those beyond the row `after`.
        """
        ...

    async def forget_day(self, day: date, counts: Mapping[Table, int]) -> bool:
        """Drop what `export` gave of a day, if it has exactly so many rows still; whether it did.

        History only grows, so equal counts are the same rows.
        """
        ...

    async def close(self) -> None: ...
