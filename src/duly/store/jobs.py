"""The jobs database, as a contract: what is to run, and when next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from duly.job import Job, JobSpec, JobState, Task


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


class DueGroup(NamedTuple):
    """Jobs that fall due for one slot and share all that decides about their runs.

    The database groups them: a rush is a million jobs and a handful of these. A tuple, with times
    and offsets as whole microseconds and `missed` as its stored JSON. Each job falls due at the
    slot plus its offset.
    """

    slot_us: int
    schedule: str
    timezone: str
    gap: str
    repeat: str
    ends_us: int | None
    missed: str
    schedule_version: int
    queue: str
    priority: int
    exclusive: bool
    job_ids: list[int]
    offsets_us: list[int]


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


@dataclass(frozen=True, slots=True)
class NameConflict:
    """The name belongs to this other job."""

    job_id: int


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

    async def due(self, before: datetime, *, limit: int) -> list[DueGroup]:
        """The first `limit` active jobs with next_run_at <= before, in groups. Reads only those.

        The groups come in the order of their earliest jobs.
        """
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
