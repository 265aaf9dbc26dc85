"""Time: the only file that reads a clock.

Wall time is aware UTC to the microsecond. Waiting is measured with the monotonic clock, which no
operator and no daylight saving moves. Databases hold time as whole microseconds since 1970
(`micros`, `instant`), which compares and indexes as a plain integer.
"""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta
from typing import Protocol

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY_US = 86_400_000_000
# How fast two clocks may drift apart, and what is no drift but a step.
_DRIFT = 1e-4
_STEP_S = 0.05


class Clock(Protocol):
    """Where time comes from. Tests bring their own."""

    def now(self) -> datetime:
        """The present instant, aware, UTC."""
        ...

    def now_us(self) -> int:
        """The same as `micros`, without a datetime in between."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...


class SystemClock:
    """This machine's clocks."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def now_us(self) -> int:
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        return time.monotonic()


class AnchoredClock:
    """Another clock's time, carried on from one of its answers to the next.

    Databases own time. A process that needs it between two calls goes on from the last answer with
    the monotonic clock, so an hour that its own machine's clock is off never shows. Until the
    first answer it is that machine's.
    """

    def __init__(self) -> None:
        self._ahead = 0.0  # seconds since 1970 less monotonic seconds
        self._anchored_at: float | None = None

    def anchor(self, now: datetime) -> None:
        """Take over the time that just arrived.

        It was read before it arrived, by half of a round trip or more: of several answers the one
        that puts the clock furthest ahead is the truest, and fades as the clocks drift apart.
        """
        at = time.monotonic()
        ahead = now.timestamp() - at
        if self._anchored_at is not None:
            faded = self._ahead - (at - self._anchored_at) * _DRIFT
            if 0 < faded - ahead < _STEP_S:
                ahead = faded
        self._ahead, self._anchored_at = ahead, at

    def now(self) -> datetime:
        return instant(self.now_us())

    def now_us(self) -> int:
        if self._anchored_at is None:
            return time.time_ns() // 1000
        return round((self._ahead + time.monotonic()) * 1e6)

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

    def now_us(self) -> int:
        return micros(self._now)

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


def day_bounds(day: date) -> tuple[int, int]:
    """A day in UTC as `micros`: its first, and the next one's first."""
    first = (day - EPOCH.date()).days * DAY_US
    return first, first + DAY_US


def day_of(micros_since_epoch: int) -> date:
    """The day in UTC that a moment lies in."""
    return EPOCH.date() + timedelta(days=micros_since_epoch // DAY_US)
