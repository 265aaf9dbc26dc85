"""A run in words: for `runs list` and `runs show`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from duly.cli.times import lasting, local, read_stamp, relative

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, tzinfo

COLUMNS = ("ID", "STATUS", "FOR", "STARTED", "TOOK", "TRIES", "RESULT")
_INSTANTS = ("for", "last_slot", "due", "queued", "started", "finished")
FINAL = frozenset({"succeeded", "dead", "skipped", "canceled"})


def row(run: Mapping[str, Any], now: datetime, zone: tzinfo | None) -> tuple[object, ...]:
    """A run as one row under COLUMNS."""
    return (
        run["id"],
        run["status"],
        _when(run.get("for"), zone),
        _ago(run.get("started"), now),
        took(run, now),
        run.get("attempts") or "",
        result(run),
    )


def facts(run: Mapping[str, Any], now: datetime, zone: tzinfo | None) -> list[tuple[str, Any]]:
    """Everything about a run."""
    shown = {"id", "status", "exit_code", "signal", "reason", "tries", *_INSTANTS}
    told: list[tuple[str, Any]] = [("id", run["id"]), ("status", run["status"])]
    told += [
        (field, _with_relative(run[field], now, zone)) for field in _INSTANTS if run.get(field)
    ]
    told += [("took", took(run, now)), ("result", result(run))]
    told += [(f, value) for f, value in run.items() if f not in shown]
    told += [("try", _try(attempt, zone)) for attempt in run.get("tries") or ()]
    return told


def took(run: Mapping[str, Any], now: datetime) -> str:
    """How long it ran, or has been running."""
    if not run.get("started"):
        return ""
    finished = run.get("finished")
    if not finished and run["status"] != "running":
        return ""
    end = read_stamp(finished) if finished else now
    length = max(end - read_stamp(run["started"]), timedelta(0))
    if length < timedelta(seconds=10):
        return f"{length.total_seconds():.3f} s"
    return lasting(length)


def result(run: Mapping[str, Any]) -> str:
    """What came of it, as far as there is more to say than its status."""
    parts = []
    if run.get("exit_code") is not None:
        parts.append(f"exit code {run['exit_code']}")
    if run.get("signal") is not None:
        parts.append(f"signal {run['signal']}")
    if run.get("reason"):
        parts.append(str(run["reason"]))
    if (run.get("slots") or 1) > 1 and not any("slot" in part for part in parts):
        parts.append(f"{run['slots']} slots")
    return ", ".join(parts)


def _try(attempt: Mapping[str, Any], zone: tzinfo | None) -> str:
    number, outcome = attempt.get("attempt"), attempt.get("outcome")
    told = [f"{number}: {outcome}", _when(attempt.get("finished"), zone), result(attempt)]
    return ", ".join(part for part in told if part)


def _when(text: str | None, zone: tzinfo | None) -> str:
    return local(read_stamp(text), zone) if text else ""


def _ago(text: str | None, now: datetime) -> str:
    return relative(read_stamp(text), now) if text else ""


def _with_relative(text: str, now: datetime, zone: tzinfo | None) -> str:
    moment = read_stamp(text)
    return f"{local(moment, zone)} ({relative(moment, now)})"
