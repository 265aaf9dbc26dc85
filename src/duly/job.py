"""Jobs: what a team asks to have run, and what Duly knows about it.

`JobSpec` is what a person wrote. `Job` adds what Duly keeps: identity, state, the next time, and
the two versions. Values only: nothing here reads time or a database.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from duly.schedule import Gap, Repeat, Schedule, parse


class JobState(StrEnum):
    """Where a job stands in its life."""

    ACTIVE = "active"  # planned whenever next_run_at falls within the horizon
    PAUSED = "paused"  # by a person; nothing is planned, nothing planned starts
    ENDED = "ended"  # its schedule has no further time
    DELETED = "deleted"  # kept for its history alone; its name is free again


class Overlap(StrEnum):
    """What becomes of a slot that falls due while an earlier run of the job is open.

    A run is open from its first start until its final status, waits between tries included.
    """

    SKIP = "skip"  # the slot's row says which run was in the way
    ALLOW = "allow"  # both run side by side, as cron does it


class MissedPolicy(StrEnum):
    """What becomes of slots that nobody planned in time (outage, machine asleep)."""

    CATCH_UP = "catch_up"  # each one runs, late, oldest first, within the window
    LATEST = "latest"  # one run stands for all of them: the latest
    SKIP = "skip"  # none runs; one row says which were skipped


@dataclass(frozen=True, slots=True)
class Missed:
    """The missed policy with its numbers.

    Args:
        grace: how late a slot may be planned and still count as on time.
        window: how far back `catch_up` reaches; older slots are skipped.
    """

    policy: MissedPolicy = MissedPolicy.LATEST
    grace: timedelta = timedelta(minutes=1)
    window: timedelta = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a failing run is tried, and how long after each failure.

    The waits are backoff, 2 x backoff, 4 x backoff and so on, never above the cap. `safe=False`
    ("retry": "never") marks a job that must not be repeated: one try, also when its worker is lost.
    """

    tries: int = 4
    backoff: timedelta = timedelta(minutes=1)
    cap: timedelta = timedelta(hours=1)
    safe: bool = True

    @classmethod
    def never(cls) -> Retry:
        return cls(tries=1, safe=False)


@dataclass(frozen=True, slots=True)
class Command:
    """What a worker starts: exactly one of a name, an argument list or a shell text.

    Args:
        name: looked up in the worker's own configuration.
        exec: the program and its arguments; no shell touches them.
        shell: a text for the shell (SHELL of `env`, else /bin/sh).
        cwd: where it starts; the user's home where None.
        env: added to the clean environment that the worker gives.
        stdin: text for standard input.
        user: whom it runs as; the worker's own user where None.
    """

    name: str | None = None
    exec: tuple[str, ...] | None = None
    shell: str | None = None
    cwd: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    stdin: str | None = None
    user: str | None = None

    def in_short(self) -> str:
        """One line for lists."""
        if self.name is not None:
            return self.name
        if self.exec is not None:
            return " ".join(self.exec)
        return self.shell or ""


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A job as a person describes it. Equal specs are the same request.

    `schedule` holds the text as normalised by `duly.schedule`; `input` is JSON text, so that a
    spec stays hashable and compares by value.
    """

    schedule: str
    command: Command
    timezone: str = "UTC"
    name: str | None = None
    description: str | None = None
    gap: Gap = Gap.AFTER
    repeat: Repeat = Repeat.FIRST
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    input: str | None = None
    jitter: timedelta = timedelta(0)
    overlap: Overlap = Overlap.SKIP
    missed: Missed = Missed()
    retry: Retry = Retry()
    timeout: timedelta = timedelta(hours=1)
    queue: str = "default"
    priority: int = 5
    owner: str | None = None
    alert: Literal["owner", "none"] = "owner"
    source: str | None = None

    @property
    def timing(self) -> tuple[Any, ...]:
        """All that decides when it runs; a change of it raises `schedule_version`."""
        return (
            self.schedule,
            self.timezone,
            self.gap,
            self.repeat,
            self.starts_at,
            self.ends_at,
            self.jitter,
        )

    def parsed(self) -> Schedule:
        """The schedule as a pure function. Raises InvalidSchedule."""
        return parse(self.schedule, self.timezone, gap=self.gap, repeat=self.repeat)


@dataclass(frozen=True, slots=True)
class Job:
    """A registered job.

    Args:
        jitter_offset: picked once when the jitter was set; added to each slot.
        next_run_at: when the next slot falls due, offset included; None unless active.
        schedule_version: rises with each change that voids what was planned.
        version: rises with each change at all.
        changed_at: when `schedule_version` last rose.
    """

    id: int
    team: str
    spec: JobSpec
    state: JobState
    jitter_offset: timedelta
    next_run_at: datetime | None
    schedule_version: int
    version: int
    created_at: datetime
    updated_at: datetime
    changed_at: datetime

    @property
    def ref(self) -> str:
        return job_ref(self.id)

    def next_slot(self) -> datetime | None:
        return None if self.next_run_at is None else self.next_run_at - self.jitter_offset


_JOB_REF = re.compile(r"j([1-9][0-9]{0,17})", re.ASCII)


class Task(NamedTuple):
    """The little of a job that a worker needs: what to run, and whether it may still start.

    `changed_us` is the job's `changed_at` in whole microseconds, as runs have their times.
    """

    job_id: int
    version: int
    state: JobState
    schedule_version: int
    changed_us: int
    command: Command
    input: str | None
    timeout: timedelta
    retry: Retry


def job_ref(job_id: int) -> str:
    """A job's id as people see it.

    >>> job_ref(7)
    'j7'
    """
    return f"j{job_id}"


def parse_job_ref(ref: str) -> int | None:
    """The number behind `j7`, or None where the text is no job id."""
    match = _JOB_REF.fullmatch(ref)
    return int(match[1]) if match else None
