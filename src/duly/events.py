"""What happened, as values. Verbs return events; only `telemetry.py` turns them into log lines.

Each has an `action`, a verb in the past tense, and the ids that a reader would search for.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import ClassVar

from duly.run import ClaimedRun, Outcome, RunKey, Status


@dataclass(frozen=True, slots=True)
class Planned:
    """One pass of planning did something."""

    action: ClassVar = "planned"
    saved: int
    moved: int
    skipped_slots: int


@dataclass(frozen=True, slots=True)
class PlanRefused:
    """Jobs were not moved: an edit came between, or a newer term has begun."""

    action: ClassVar = "plan_refused"
    jobs: int
    term: int


@dataclass(frozen=True, slots=True)
class OverlapSkipped:
    """A slot fell to its overlap policy."""

    action: ClassVar = "overlap_skipped"
    run: RunKey


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A command was started. `lateness` counts from due_at."""

    action: ClassVar = "run_started"
    run: RunKey
    attempt: int
    token: int
    pid: int
    lateness: timedelta


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A try ended and its result is stored."""

    action: ClassVar = "run_ended"
    run: RunKey
    attempt: int
    outcome: Outcome
    status: Status
    reason: str | None


@dataclass(frozen=True, slots=True)
class ResultDiscarded:
    """A result came for a run that is no longer the worker's: another holds it, or it ended."""

    action: ClassVar = "result_discarded"
    run: RunKey
    attempt: int
    token: int


@dataclass(frozen=True, slots=True)
class RunRescued:
    """A silent worker's run was handed on, or has ended as dead."""

    action: ClassVar = "run_rescued"
    run: ClaimedRun
    worker: str
    status: Status


@dataclass(frozen=True, slots=True)
class DayArchived:
    """A day of history lies in the archive now, and no more in the runs database."""

    action: ClassVar = "day_archived"
    day: date
    runs: int


Event = (
    Planned
    | PlanRefused
    | OverlapSkipped
    | RunStarted
    | RunEnded
    | ResultDiscarded
    | RunRescued
    | DayArchived
)
