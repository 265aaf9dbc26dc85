"""Rules of daily or finer frequency, walked by arithmetic.

dateutil tries every second of a day for `FREQ=SECONDLY;BYHOUR=3`, twenty milliseconds each time;
with COUNT that made a registration take minutes. Here each step goes straight to the next month,
day, hour, minute or second that the rule leaves in, and from there to the next period in step with
INTERVAL.
"""

from __future__ import annotations

from bisect import bisect_right
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import product
from math import gcd
from typing import Any

from duly.schedule.rrule_parts import Parts

DAILY, HOURLY, MINUTELY, SECONDLY = range(3, 7)
_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
_MINUTE = timedelta(minutes=1)
_SECOND = timedelta(seconds=1)
_UNIT = {DAILY: _DAY, HOURLY: _HOUR, MINUTELY: _MINUTE, SECONDLY: _SECOND}
_DAY_S = 86_400
# What does not come within a hundred years does not come.
_HORIZON = timedelta(days=36_525)


@dataclass(frozen=True, slots=True)
class Steps:
    """A rule of daily or finer frequency, ready to walk.

    Args:
        origin: the start of DTSTART's period; all periods lie whole multiples of `length` later.
        by: the BY parts that leave days in or out, under dateutil's names.
        hours, minutes, seconds: what a period's start must have; None leaves all in.
        offsets: the times that one period holds, counted from its start; BYSETPOS is applied.
    """

    origin: datetime
    length: timedelta
    by: dict[str, tuple[Any, ...]]
    hours: frozenset[int] | None
    minutes: frozenset[int] | None
    seconds: frozenset[int] | None
    offsets: tuple[timedelta, ...]

    def walls(self, after: datetime) -> Iterator[datetime]:
        """The wall times strictly after `after`; ends where a hundred years bring none."""
        try:
            yield from self._walls(after)
        except (OverflowError, ValueError):
            return  # the calendar has ended (year 9999)

    def _walls(self, after: datetime) -> Iterator[datetime]:
        period = self.origin + max(0, (after - self.origin) // self.length) * self.length
        last = period
        # One whole period is looked beyond, however long it is.
        while period - last <= _HORIZON + self.length:
            target = self._left_in_from(period)
            if target == period:
                for offset in self.offsets[bisect_right(self.offsets, after - period) :]:
                    yield period + offset
                last = period
                period += self.length
            else:
                period = self.origin + -(-(target - self.origin) // self.length) * self.length

    def _left_in_from(self, moment: datetime) -> datetime:
        """`moment` where the rule leaves it in, else the next that may be, whatever the period."""
        if not day_matches(self.by, moment.date()):
            return datetime.combine(self._next_day(moment.date() + _DAY), moment.min.time())
        if self.hours is not None and moment.hour not in self.hours:
            ahead = _ahead(self.hours, moment.hour, 24)
            return moment.replace(minute=0, second=0) + ahead * _HOUR
        if self.minutes is not None and moment.minute not in self.minutes:
            ahead = _ahead(self.minutes, moment.minute, 60)
            return moment.replace(second=0) + ahead * _MINUTE
        if self.seconds is not None and moment.second not in self.seconds:
            return moment + _ahead(self.seconds, moment.second, 60) * _SECOND
        return moment

    def _next_day(self, day: date) -> date:
        """The first day from `day` on that the rule leaves in; one is known to come."""
        months = self.by.get("bymonth")
        while not day_matches(self.by, day):
            if months is not None and day.month not in months:
                day = _next_month(day)
            else:
                day += _DAY
        return day

    def ever_at_such_a_time(self) -> bool:
        """Whether periods begin at a time of day that is left in, days aside.

        Exact: their times of day are those that differ from the first by multiples of the greatest
        common divisor of INTERVAL and a day.
        """
        divisor = gcd(self.length // _SECOND, _DAY_S)
        clock = self.origin - datetime.combine(self.origin.date(), self.origin.min.time())
        first = clock // _SECOND
        every = (self.hours or range(24), self.minutes or range(60), self.seconds or range(60))
        return any(
            (hour * 3600 + minute * 60 + second - first) % divisor == 0
            for hour, minute, second in product(*every)
        )


def steps_of(parts: Parts, start: datetime, by: dict[str, tuple[Any, ...]]) -> Steps:
    """The steps of a rule whose BY parts are written out as far as its frequency wants them."""
    freq = parts.freq
    origin = start
    for finest, unit in ((SECONDLY, "second"), (MINUTELY, "minute"), (HOURLY, "hour")):
        if freq < finest:
            origin = origin.replace(**{unit: 0})  # type: ignore[arg-type]

    def limit(name: str, finest: int) -> frozenset[int] | None:
        return frozenset(by[name]) if freq >= finest and name in by else None

    expanded = [
        by[name] if freq < finest else (0,)
        for name, finest in (("byhour", HOURLY), ("byminute", MINUTELY), ("bysecond", SECONDLY))
    ]
    offsets = sorted(timedelta(hours=h, minutes=m, seconds=s) for h, m, s in product(*expanded))
    if "bysetpos" in by:
        most = len(offsets)
        places = {p - 1 if p > 0 else most + p for p in by["bysetpos"] if abs(p) <= most}
        offsets = [offsets[place] for place in sorted(places)]
    return Steps(
        origin,
        parts.interval * _UNIT[freq],
        by,
        limit("byhour", HOURLY),
        limit("byminute", MINUTELY),
        limit("bysecond", SECONDLY),
        tuple(offsets),
    )


def day_matches(by: dict[str, tuple[Any, ...]], day: date) -> bool:
    """Whether the parts that name days leave this one in (ordinals of week days not looked at)."""
    if "bymonth" in by and day.month not in by["bymonth"]:
        return False
    if "bymonthday" in by:
        days = by["bymonthday"]
        if day.day not in days and day.day - monthrange(day.year, day.month)[1] - 1 not in days:
            return False
    if "byweekday" in by:
        weekday = day.weekday()
        if not any(weekday_of(each) == weekday for each in by["byweekday"]):
            return False
    if "byyearday" in by:
        number = day.timetuple().tm_yday
        return bool({number, number - year_length(day) - 1} & set(by["byyearday"]))
    return True


def weekday_of(day: Any) -> int:
    """The week day's number, Monday 0, with or without an ordinal."""
    return day if isinstance(day, int) else int(day.weekday)


def year_length(day: date) -> int:
    return 366 if day.year % 4 == 0 and (day.year % 100 != 0 or day.year % 400 == 0) else 365


def _next_month(day: date) -> date:
    year, month = divmod(day.year * 12 + day.month, 12)
    return date(year, month + 1, 1)


def _ahead(values: frozenset[int], value: int, size: int) -> int:
    """How far the next of `values` is; where none is left, how far the field's end is."""
    return min((each for each in values if each > value), default=size) - value
