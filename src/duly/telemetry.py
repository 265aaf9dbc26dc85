"""Turns events into log lines; the only file that formats them.

Lines go to standard error, `key=value` for people (JSON on request), each with an `action`, the
role it came from, and the ids of what it is about.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import structlog

from duly.events import (
    Event,
    Planned,
    PlanRefused,
    ResultDiscarded,
    RunEnded,
    RunRescued,
    RunStarted,
)
from duly.run import ClaimedRun, Outcome

Logger = structlog.stdlib.BoundLogger


def logger(role: str) -> Logger:
    """A logger for one role of this process."""
    colors = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("action"),
            structlog.dev.ConsoleRenderer(
                colors=colors, event_key="action", exception_formatter=structlog.dev.plain_traceback
            ),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    bound: Logger = structlog.get_logger(role=role)
    return bound


class Telemetry:
    """Where verbs' events go.

    Args:
        log: from `logger`.
        verbose: also write what goes well. A busy worker starts hundreds of runs a second; each is
            a row in the history and need not be a line here.
    """

    def __init__(self, log: Logger, *, verbose: bool = False) -> None:
        self._log = log
        self.verbose = verbose

    def emit(self, events: Iterable[Event]) -> None:
        for event in events:
            if self.verbose or not _goes_well(event):
                self._write(event)

    def say(self, action: str, **facts: Any) -> None:
        """Something that is no event of a verb: a start, a stop, a leadership."""
        self._log.info(action, **facts)

    def trouble(self, action: str, **facts: Any) -> None:
        """Something that a person may have to look at."""
        self._log.warning(action, **facts)

    def _write(self, event: Event) -> None:
        facts = {f.name: _plain(getattr(event, f.name)) for f in dataclasses.fields(event)}
        told = self._log.warning if isinstance(event, _TROUBLE) else self._log.info
        told(event.action, **facts)


_TROUBLE = (PlanRefused, ResultDiscarded, RunRescued)


def _goes_well(event: Event) -> bool:
    match event:
        case RunStarted():
            return True
        case RunEnded():
            return event.outcome is Outcome.SUCCEEDED
        case Planned():
            return event.skipped_slots == 0
        case _:
            return False


def _plain(value: Any) -> Any:
    if isinstance(value, ClaimedRun):
        return str(value.key)
    if isinstance(value, timedelta):
        return round(value.total_seconds(), 6)
    return value if isinstance(value, int | float | bool | None) else str(value)
