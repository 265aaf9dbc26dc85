"""A job in words: for `jobs list`, `jobs show` and the answer of `jobs add`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from duly.cli.times import local, next_run, read_stamp

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, tzinfo

COLUMNS = ("ID", "NAME", "STATE", "SCHEDULE", "ZONE", "NEXT RUN", "COMMAND")
_LONGEST = 60
_INSTANTS = frozenset({"starts_at", "ends_at", "created", "updated"})


def row(job: Mapping[str, Any], now: datetime, zone: tzinfo | None) -> tuple[str, ...]:
    """A job as one row under COLUMNS."""
    return (
        job["id"],
        job.get("name") or "",
        job["state"],
        job["schedule"],
        job["timezone"],
        next_of(job, now, zone),
        _shortened(command(job["command"])),
    )


def facts(job: Mapping[str, Any], now: datetime, zone: tzinfo | None) -> list[tuple[str, Any]]:
    """Everything about a job, in the order in which people ask."""
    known = {"id", "name", "state", "schedule", "timezone", "next_run", "command", "warnings"}
    known |= {"in_words", "overdue_s", "overdue_reason"}
    rest = [
        (field, local(read_stamp(value), zone) if value and field in _INSTANTS else value)
        for field, value in job.items()
        if field not in known
    ]
    return [*brief(job, now, zone), ("command", command(job["command"])), *_details(job), *rest]


def brief(job: Mapping[str, Any], now: datetime, zone: tzinfo | None) -> list[tuple[str, Any]]:
    """What the answer of `jobs add` says."""
    return [
        ("id", job["id"]),
        ("name", job.get("name")),
        ("state", job["state"]),
        ("schedule", f"{job['schedule']} ({job['timezone']})"),
        ("in words", job.get("in_words")),
        ("next run", next_of(job, now, zone)),
        ("overdue", job.get("overdue_reason")),
        *(("warning", warning) for warning in job.get("warnings") or ()),
    ]


def next_of(job: Mapping[str, Any], now: datetime, zone: tzinfo | None) -> str:
    text = job.get("next_run")
    return next_run(read_stamp(text) if text else None, now, zone)


def command(value: str | Mapping[str, Any]) -> str:
    """What runs, in one line."""
    if isinstance(value, str):
        return value
    if value.get("exec"):
        return " ".join(value["exec"])
    return str(value.get("shell") or value.get("name") or "")


def _details(job: Mapping[str, Any]) -> list[tuple[str, Any]]:
    value = job["command"]
    if isinstance(value, str):
        return []
    return [(part, value.get(part)) for part in ("cwd", "env", "stdin", "user")]


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
