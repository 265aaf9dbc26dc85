"""Time: the only file that reads a clock.

Wall time is aware UTC to the microsecond. Waiting is measured with the monotonic clock, which no
operator and no daylight saving moves. Databases hold time as whole microseconds since 1970
(`micros`, `instant`), which compares and indexes as a plain integer.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """Where time comes from. Tests bring their own."""

    def now(self) -> datetime:
        """The present instant, aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...


class SystemClock:
    """This machine's clocks."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that stands still until it is moved.

    >>> clock = ManualClock(datetime(2026, 10, 24, 2, tzinfo=UTC))
    >>> clock.move(timedelta(minutes=1))
    >>> clock.now().minute
    1
    """

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._monotonic = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def move(self, by: timedelta) -> None:
        self._now += by
        self._monotonic += by.total_seconds()

    def set(self, now: datetime) -> None:
        """Jump the wall clock as an operator or NTP would; monotonic time does not notice."""
        self._now = now


def micros(moment: datetime) -> int:
    """Whole microseconds from 1970-01-01T00:00Z to `moment`."""
    # Planning does this millions of times; integer parts cost half of a timedelta division.
    since = moment - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def instant(micros_since_epoch: int) -> datetime:
    """The aware UTC datetime that lies so many microseconds after 1970-01-01T00:00Z."""
    return EPOCH + timedelta(microseconds=micros_since_epoch)
