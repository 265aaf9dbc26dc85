"""The two stores, as contracts. Back ends keep them; the conformance suite holds them to it.

Every verb is one transaction of its own database. No transaction spans the two, so no caller may
rely on one; `flow/` orders its calls so that a crash between two of them is harmless.

Each verb that changes a row names what it expects to find, and reports (never raises) when
somebody else was first. A database that does not answer raises `StoreUnavailable`: the change may
or may not have happened, and every verb is safe to repeat.

Time: `now=None` means the database's own clock, inside the statement. Only tests pass a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple, Protocol

from duly.history import Row, Table
from duly.job import Job, JobSpec, JobState, Task
from duly.run import ClaimedRun, Outcome, Output, PlannedRun, PlannedSlot, Run, RunKey, Status, Try


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be added: the request plus what registration decided."""

    team: str
    spec: JobSpec
    jitter_offset: timedelta
    next_run_at: datetime | None
    state: JobState = JobState.ACTIVE


@dataclass(frozen=True, slots=True)
class Added:
    """What came of adding: the job that now has the name, and whether this call made it."""

    job: Job
    created: bool


@dataclass(frozen=True, slots=True)
class RequestKey:
    """An Idempotency-Key in its own space: no replay across teams, methods or routes."""

    team: str
    route: str
    key: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The first answer to a request with an Idempotency-Key, kept to be given again."""

    status: int
    body: str
    location: str | None = None


class DueJob(NamedTuple):
    """The little of a job that planning reads, as it lies in the row.

    A tuple, with times as whole microseconds since 1970 and `missed` as its stored JSON: a rush
    reads a million of them, and planning decodes each distinct value once.
    """

    id: int
    schedule: str
    timezone: str
    gap: str
    repeat: str
    ends_us: int | None
    missed: str
    next_run_us: int
    offset_us: int
    schedule_version: int
    queue: str
    priority: int
    exclusive: bool


class Move(NamedTuple):
    """Set jobs on to their next slot, each where its schedule is still the one that was read."""

    next_slot_us: int | None  # None: the schedule has ended
    schedule_version: int
    job_ids: list[int]
    offsets_us: list[int]  # each job's jitter, added to the slot


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs to list; None leaves a field open. Deleted jobs are never listed."""

    state: JobState | None = None
    name: str | None = None
    source: str | None = None
    queue: str | None = None
    owner: str | None = None


class JobStore(Protocol):
    """The jobs database: few writes, read every second."""

    async def now(self) -> datetime:
        """The jobs database's clock."""
        ...

    async def add(
        self,
        new: NewJob,
        *,
        request: RequestKey | None = None,
        answer: Callable[[Job], StoredAnswer] | None = None,
        now: datetime | None = None,
    ) -> Added:
        """Add a job and, in the same transaction, the answer to its request.

        Where the team already has a job of that name, that job is returned, whatever its spec, and
        nothing is added: of two concurrent calls one creates. A key stored by a concurrent call
        makes this one return that call's job.
        """
        ...

    async def add_many(self, new: Sequence[NewJob], *, now: datetime | None = None) -> list[Added]:
        """`add` for many, in one transaction, in order."""
        ...

    async def recall(self, request: RequestKey) -> StoredAnswer | None:
        """The answer stored under the key. Raises KeyReused where its fingerprint differs."""
        ...

    async def remember(
        self, request: RequestKey, answer: StoredAnswer, *, now: datetime | None = None
    ) -> StoredAnswer:
        """Store an answer unless the key has one; return the one that the key now has.

        Raises KeyReused where the key was stored with another fingerprint.
        """
        ...

    async def get(self, job_id: int) -> Job | None:
        """One job, deleted ones too."""
        ...

    async def get_many(self, job_ids: Sequence[int]) -> dict[int, Job]:
        """The jobs that exist among `job_ids`, deleted ones too."""
        ...

    async def tasks(self, job_ids: Sequence[int]) -> dict[int, Task]:
        """What a worker needs of the jobs that exist among `job_ids`, deleted ones too."""
        ...

    async def versions(self, job_ids: Sequence[int]) -> dict[int, int]:
        """The present version of each job that exists among `job_ids`. Cheap: reads little."""
        ...

    async def find(self, team: str, name: str) -> Job | None:
        """The team's job of that name, unless deleted."""
        ...

    async def browse(
        self, team: str, which: JobFilter, *, after: int = 0, limit: int = 100
    ) -> list[Job]:
        """Jobs with ids above `after`, by id."""
        ...

    async def replace(self, job: Job, *, expected_version: int) -> Job | NameConflict | None:
        """Write `job` over the row if its version is still `expected_version`.

        The stored version becomes expected_version + 1. None: someone else changed it first, read
        again. NameConflict: its new name belongs to another job of the team.
        """
        ...

    async def due(self, before: datetime, *, limit: int) -> list[DueJob]:
        """Active jobs with next_run_at <= before, earliest first. Reads only those."""
        ...

    async def advance(self, moves: Sequence[Move], *, term: int) -> int:
        """Move jobs on where their schedule_version still stands; return how many moved.

        Refused as a whole (0 moved) where `term` is no longer the highest: the check is part of
        the transaction.
        """
        ...

    async def take_over(self, leader: str, *, now: datetime | None = None) -> int:
        """Begin a term as leader: a number above every earlier one, durable before it returns."""
        ...

    async def current_term(self) -> int:
        """The highest term begun; 0 before the first."""
        ...

    async def counts(self) -> dict[JobState, int]:
        """How many jobs stand in each state."""
        ...

    async def forget_answers(self, before: datetime, *, limit: int = 1000) -> int:
        """Drop stored answers older than `before`; bounded work; how many."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class NameConflict:
    """The name belongs to this other job."""

    job_id: int


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

    It takes effect only while the run is running under `token`. `counts=False` gives the try back.
    """

    key: RunKey
    token: int
    attempt: int
    outcome: Outcome
    status: Status
    finished_at: datetime
    started_at: datetime | None = None
    due_at: datetime | None = None
    counts: bool = True
    exit_code: int | None = None
    signal: int | None = None
    reason: str | None = None
    output: Output | None = None


@dataclass(frozen=True, slots=True)
class LostRun:
    """A run whose worker has fallen silent."""

    run: ClaimedRun
    worker: str
    started_at: datetime | None


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
