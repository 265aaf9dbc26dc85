"""Intervals: `every 5 minutes`. Elapsed time on the clock's own multiples, whatever the zone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from duly.errors import InvalidSchedule

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Whole weeks begin on a Monday, as a calendar's weeks do.
_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)
_DAY = timedelta(days=1)
_WEEK = timedelta(weeks=1)
_LONGEST = 36_500 * _DAY

_UNITS = {
    unit: timedelta(seconds=seconds)
    for seconds, names in {
        1: "s sec second seconds",
        60: "m min minute minutes",
        3600: "h hr hour hours",
        86_400: "d day days",
        604_800: "w week weeks",
    }.items()
    for unit in names.split()
}
_COMPACT = re.compile(r"(?:[0-9]+[smhdw])+")
_COMPACT_PART = re.compile(r"([0-9]+)([smhdw])")


@dataclass(frozen=True, slots=True)
class Interval:
    """Every `length` from `anchor` on; nothing before the anchor where one was given."""

    length: timedelta
    anchor: datetime
    anchored: bool

    def next_after(self, instant: datetime) -> datetime | None:
        if self.anchored and instant < self.anchor:
            return self.anchor
        try:
            return self.anchor + ((instant - self.anchor) // self.length + 1) * self.length
        except OverflowError:
            return None

    def in_words(self) -> str:
        told = f"every {tell_length(self.length)}"
        if self.anchored:
            return f"{told}, counted from {self.anchor:%Y-%m-%dT%H:%M:%SZ}"
        since = "Monday 1970-01-05" if self.anchor == _MONDAY else "1970-01-01"
        return f"{told} of elapsed time, counted from {since} 00:00 UTC"

    def warnings(self) -> list[str]:
        if self.length != _DAY or self.anchored:
            return []
        advice = (
            "every 24 hours of elapsed time runs at 00:00 UTC, whatever the zone; for midnight in "
            "the job's zone write `daily 00:00`"
        )
        return [advice]


def read_interval(text: str) -> tuple[timedelta, str | None]:
    """The length of `every …` and the text of its anchor (lower case, single spaces)."""
    body, found, anchor = text.removeprefix("every").strip().partition(" from ")
    if body.endswith(" from") or (found and not anchor):
        raise InvalidSchedule(
            "`from` lacks its moment; for example `every 36 hours from 2026-12-01T06:00`",
            field="anchor",
        )
    length = _length(body)
    if length < timedelta(seconds=1):
        raise InvalidSchedule(
            f"`{text}`: an interval is at least one second, for example `every 30 seconds`",
            field="interval",
            part=body,
        )
    if length > _LONGEST:
        raise InvalidSchedule(
            f"`{text}`: an interval is at most 36500 days; for single dates use `at`",
            field="interval",
            part=body,
        )
    return length, anchor or None


def on_the_clock(length: timedelta) -> Interval:
    """The interval without an anchor of its own."""
    return Interval(length, _EPOCH if length % _WEEK else _MONDAY, anchored=False)


def tell_length(length: timedelta) -> str:
    """A length as people write it.

    >>> tell_length(timedelta(minutes=90))
    '1h30m'
    >>> tell_length(timedelta(weeks=2))
    '2 weeks'
    """
    seconds = length // timedelta(seconds=1)
    for size, unit in ((604_800, "week"), (86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds % size == 0:
            return _count(seconds // size, unit)
    if seconds < 60:
        return _count(seconds, "second")
    parts = []
    for size, letter in ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s")):
        amount, seconds = divmod(seconds, size)
        if amount:
            parts.append(f"{amount}{letter}")
    return "".join(parts)


def _count(amount: int, unit: str) -> str:
    return unit if amount == 1 else f"{amount} {unit}s"


def _length(body: str) -> timedelta:
    try:
        if _COMPACT.fullmatch(body):
            pieces = _COMPACT_PART.findall(body)
            return sum((int(n[:12]) * _UNITS[unit] for n, unit in pieces), timedelta(0))
        amount, _, unit = body.rpartition(" ")
        if unit in _UNITS and (not amount or (amount.isascii() and amount.isdigit())):
            return int(amount[:12] or 1) * _UNITS[unit]
    except OverflowError:
        return timedelta.max
    raise InvalidSchedule(f"`every {body}`: {_why(body)}", field="interval", part=body)


def _why(body: str) -> str:
    unit = body.rpartition(" ")[2]
    if unit.removesuffix("s") in ("month", "year", "quarter") or re.search(r"[0-9](mo|y)", body):
        return (
            "months and years are no fixed length; write `monthly 1 00:00`, `yearly 01-01 00:00`, "
            "or `RRULE:FREQ=MONTHLY;INTERVAL=2;BYMONTHDAY=1;BYHOUR=0;BYMINUTE=0`"
        )
    if unit[:3] in ("mon", "tue", "wed", "thu", "fri", "sat", "sun"):
        return f"for a day of the week write `weekly {unit[:3]} 09:00`"
    if body.lstrip().startswith("-"):
        return "a length is not negative; write `every 5 minutes`"
    return (
        "a length is a whole number and a unit (seconds, minutes, hours, days, weeks), or like "
        "1h30m; for example `every 5 minutes`, `every hour`, `every 1h30m`"
    )
