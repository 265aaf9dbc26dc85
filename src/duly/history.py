"""The tables of history, alike in every engine and in the archive."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeAlias


class Table(StrEnum):
    """Runs that are over, their tries, and what these wrote."""

    RUNS = "runs"
    TRIES = "tries"
    OUTPUTS = "outputs"


# The columns in order; a table's rows come sorted by job, time and token.
COLUMNS: dict[Table, tuple[str, ...]] = {
    Table.RUNS: (
        "job_id",
        "scheduled_for",
        "status",
        "due_at",
        "queue",
        "priority",
        "manual",
        "schedule_version",
        "attempts",
        "interruptions",
        "worker",
        "token",
        "queued_at",
        "started_at",
        "finished_at",
        "exit_code",
        "signal",
        "reason",
        "slots",
        "last_slot",
    ),
    Table.TRIES: (
        "job_id",
        "scheduled_for",
        "token",
        "attempt",
        "outcome",
        "worker",
        "started_at",
        "finished_at",
        "exit_code",
        "signal",
        "reason",
    ),
    Table.OUTPUTS: ("job_id", "scheduled_for", "token", "attempt", "head", "tail", "dropped"),
}

# Values in the order of the table's columns, times as whole microseconds since 1970.
Row: TypeAlias = tuple[Any, ...]
