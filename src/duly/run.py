"""Runs: one for each (job, scheduled_for), and the states it passes through.

                      plan                          claim
        (slot) ───────────────► queued ───────────────────► running ──► succeeded
                                 │  ▲                         │ │ │
              policy: skipped ◄──┤  └── try failed, worker ───┘ │ └──► dead (replay ─► queued)
              edit:   canceled ◄─┘      lost or stopping        └────► canceled

The table below is the only list of allowed changes. A back end makes each change as a conditional
update that names the status (and for `running` the token) it expects to leave.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from duly.clock import instant
from duly.job import job_ref, parse_job_ref


class Status(StrEnum):
    """What has become of a slot."""

    QUEUED = "queued"  # planned; claimable once due_at has come
    RUNNING = "running"  # a worker holds it under a token
    SUCCEEDED = "succeeded"  # final
    DEAD = "dead"  # final: out of tries, or not safe to repeat
    SKIPPED = "skipped"  # final: by a policy, the reason says which
    CANCELED = "canceled"  # final: by a person, or voided by an edit, pause or delete


TRANSITIONS: dict[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset({Status.RUNNING, Status.SKIPPED, Status.CANCELED}),
    Status.RUNNING: frozenset({Status.SUCCEEDED, Status.QUEUED, Status.DEAD, Status.CANCELED}),
    Status.SUCCEEDED: frozenset(),
    Status.DEAD: frozenset({Status.QUEUED}),
    Status.SKIPPED: frozenset(),
    Status.CANCELED: frozenset({Status.QUEUED}),  # only a slot planned again after an edit
}


class Outcome(StrEnum):
    """How one try ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    LOST = "lost"  # its worker fell silent
    INTERRUPTED = "interrupted"  # its worker was told to stop; costs no try
    CANCELED = "canceled"  # its job was edited, paused or deleted before the start


class RunKey(NamedTuple):
    """A run's name and primary key: its job and the time that the schedule names."""

    job_id: int
    scheduled_for: datetime

    def __str__(self) -> str:
        return f"{job_ref(self.job_id)}.{_stamp(self.scheduled_for)}"


@dataclass(frozen=True, slots=True)
class Run:
    """One row of history.

    Args:
        due_at: when it may start: scheduled_for plus jitter, later the time of the next try.
        manual: started by a person, outside the schedule.
        attempts: tries begun; a try that its worker handed back does not count.
        slots: how many slots this row speaks for (a summary of skipped ones; else 1).
        last_slot: the last of them.
    """

    key: RunKey
    status: Status
    due_at: datetime
    queue: str
    priority: int
    manual: bool
    schedule_version: int
    attempts: int
    interruptions: int
    worker: str | None
    token: int | None
    queued_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    exit_code: int | None
    signal: int | None
    reason: str | None
    slots: int
    last_slot: datetime | None


@dataclass(frozen=True, slots=True)
class Try:
    """One try that did not succeed, or that is the run's last."""

    attempt: int
    outcome: Outcome
    worker: str | None
    started_at: datetime | None
    finished_at: datetime
    exit_code: int | None
    signal: int | None
    reason: str | None


class PlannedRun(NamedTuple):
    """A row that planning saves: a run to come, or the record of slots that will not run.

    Times are whole microseconds since 1970 (`duly.clock.micros`), as in `PlannedSlot`.
    """

    job_id: int
    slot_us: int
    due_us: int
    queue: str
    priority: int
    exclusive: bool
    schedule_version: int
    status: str = Status.QUEUED.value
    reason: str | None = None
    slots: int = 1
    last_slot_us: int | None = None
    manual: bool = False


class PlannedSlot(NamedTuple):
    """One slot of many jobs whose runs differ only in the job and its jitter.

    A rush is a million runs and a handful of these. Each run falls due at the slot plus its job's
    offset; times and offsets are whole microseconds.
    """

    slot_us: int
    queue: str
    priority: int
    exclusive: bool
    schedule_version: int
    job_ids: list[int]
    offsets_us: list[int]


class ClaimedRun(NamedTuple):
    """A run in a worker's hands. `token` proves the claim, and fences the command's effects.

    Times are whole microseconds from claim to end: a busy worker would make six datetimes a run.
    """

    job_id: int
    slot_us: int
    due_us: int
    attempt: int
    token: int
    schedule_version: int
    manual: bool

    @property
    def key(self) -> RunKey:
        return RunKey(self.job_id, self.scheduled_for)

    @property
    def scheduled_for(self) -> datetime:
        return instant(self.slot_us)


@dataclass(frozen=True, slots=True)
class Output:
    """What a command wrote, both streams in order: the beginning and the end of it.

    Args:
        head: the first bytes.
        tail: the last bytes, where more came than the head holds.
        dropped: how many bytes between the two were not kept.
    """

    head: bytes
    tail: bytes = b""
    dropped: int = 0

    def joined(self) -> bytes:
        """Head and tail as one, with a line between them that says what is missing."""
        if not self.dropped:
            return self.head + self.tail
        return b"%s\n[... %d bytes not kept ...]\n%s" % (self.head, self.dropped, self.tail)


_RUN_REF = re.compile(r"(j[0-9]+)\.([0-9]{8}T[0-9]{6})(?:\.([0-9]{1,6}))?Z", re.ASCII)


def parse_run_ref(ref: str) -> RunKey | None:
    """The key behind `j7.20261024T020000Z`, or None where the text is no run id."""
    match = _RUN_REF.fullmatch(ref)
    job_id = parse_job_ref(match[1]) if match else None
    if match is None or job_id is None:
        return None
    try:
        whole = datetime.strptime(match[2], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return RunKey(job_id, whole.replace(microsecond=int((match[3] or "").ljust(6, "0"))))


def _stamp(moment: datetime) -> str:
    whole = (
        f"{moment.year:04}{moment.month:02}{moment.day:02}"
        f"T{moment.hour:02}{moment.minute:02}{moment.second:02}"
    )
    return (
        f"{whole}.{moment.microsecond:06}".rstrip("0") + "Z" if moment.microsecond else f"{whole}Z"
    )
