"""Runs, tries and lost runs as their rows, for every engine alike."""

from __future__ import annotations

from typing import Any

from duly.backends.job_rows import optional_instant
from duly.clock import instant
from duly.run import ClaimedRun, Outcome, Run, RunKey, Status, Try
from duly.store import LostRun


def run_of(row: Any) -> Run:
    return Run(
        key=RunKey(row["job_id"], instant(row["scheduled_for"])),
        status=Status(row["status"]),
        due_at=instant(row["due_at"]),
        queue=row["queue"],
        priority=row["priority"],
        manual=bool(row["manual"]),
        schedule_version=row["schedule_version"],
        attempts=row["attempts"],
        interruptions=row["interruptions"],
        worker=row["worker"],
        token=row["token"],
        queued_at=instant(row["queued_at"]),
        started_at=optional_instant(row["started_at"]),
        finished_at=optional_instant(row["finished_at"]),
        exit_code=row["exit_code"],
        signal=row["signal"],
        reason=row["reason"],
        slots=row["slots"],
        last_slot=optional_instant(row["last_slot"]),
    )


def try_of(row: Any) -> Try:
    return Try(
        attempt=row["attempt"],
        outcome=Outcome(row["outcome"]),
        worker=row["worker"],
        started_at=optional_instant(row["started_at"]),
        finished_at=instant(row["finished_at"]),
        exit_code=row["exit_code"],
        signal=row["signal"],
        reason=row["reason"],
    )


def claimed_run_of(row: Any) -> ClaimedRun:
    """A row whose first columns are those of `ClaimedRun`, in its order."""
    return ClaimedRun(row[0], row[1], row[2], row[3], row[4], row[5], bool(row[6]))


def lost_run_of(row: Any) -> LostRun:
    return LostRun(claimed_run_of(row), row["worker"], row["started_at"])
