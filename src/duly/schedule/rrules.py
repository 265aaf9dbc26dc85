"""iCalendar rules (RFC 5545) by python-dateutil, whose two weak spots are mended here.

dateutil walks from DTSTART to the time asked for, and walks on to the year 9999 where nothing
matches. So the parts it would derive from DTSTART are written out, and the walk begins at the last
whole period, in step with INTERVAL, before the time asked for. (That also gives BYSETPOS a
whole first week to choose from, where dateutil would start in its middle.) Days that a rule of
daily or finer frequency leaves out are stepped over before dateutil sees them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any

from dateutil.rrule import rrule

from duly.errors import NeverFires
from duly.schedule.rrule_parts import FREQUENCIES, Parts, read_parts

YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY, MINUTELY, SECONDLY = range(7)
_UNSTARTED = datetime(1970, 1, 1)  # noqa: DTZ001 - wall time
_LAST = datetime(9999, 12, 30)  # noqa: DTZ001 - wall time
_MICROSECOND = timedelta(microseconds=1)
_DAY = timedelta(days=1)
_UNIT = {
    WEEKLY: timedelta(weeks=1),
    DAILY: _DAY,
    HOURLY: timedelta(hours=1),
    MINUTELY: timedelta(minutes=1),
    SECONDLY: timedelta(seconds=1),
}
_DAY_PARTS = frozenset({"bymonth", "bymonthday", "byyearday", "byweekday"})
# What does not come within a hundred years does not come.
_HORIZON = timedelta(days=36_525)
_ALL_CALENDARS = range(2000, 2028)  # each of the fourteen occurs


@dataclass(frozen=True, slots=True)
class RecurrenceRule:
    """A rule that has been read: always fixed, on wall time.

    Args:
        start: DTSTART; nothing comes before it.
        last: the last wall time, from UNTIL or COUNT.
        until: an UNTIL written in UTC.
    """

    text: str
    parts: Parts
    start: datetime
    by: dict[str, tuple[Any, ...]]
    last: datetime | None
    until: datetime | None

    def __hash__(self) -> int:
        return hash(self.text)

    def next_wall(self, after: datetime) -> datetime | None:
        """The next wall time strictly after `after`."""
        after = max(after, self.start - _MICROSECOND)
        if self.last is not None and after >= self.last:
            return None
        try:
            wall = self._next_by_day(after) if self.parts.freq >= DAILY else self._next(after)
        except (ValueError, OverflowError):
            # dateutil finds that hours, minutes and INTERVAL never meet, or the calendar has ended.
            return None
        return None if wall is None or (self.last is not None and wall > self.last) else wall

    def in_words(self) -> str:
        parts = self.parts
        unit = ("year", "month", "week", "day", "hour", "minute", "second")[parts.freq]
        told = f"every {unit}" if parts.interval == 1 else f"every {parts.interval} {unit}s"
        ends = "" if self.last is None else f", the last at {self.last:%Y-%m-%d %H:%M:%S}"
        return f"{told} by the iCalendar rule {self.text}{ends}"

    def _next(self, after: datetime) -> datetime | None:
        """The next wall time of a yearly, monthly or weekly rule, without regard to its end."""
        walls = _dateutil_rule(self.parts, _anchor(self.parts, self.start, after), self.by)
        return next((wall for wall in walls if wall > after), None)

    def _next_by_day(self, after: datetime) -> datetime | None:
        """The same of a finer rule: days are chosen here, dateutil finds the time of day."""
        times = {name: values for name, values in self.by.items() if name not in _DAY_PARTS}
        limit = min(after, _LAST - _HORIZON) + _HORIZON
        anchor = self._step_to_a_day(_anchor(self.parts, self.start, after), limit)
        while anchor is not None:
            walls = _dateutil_rule(self.parts, anchor, times)
            wall = next((wall for wall in walls if wall > after), None)
            if wall is None or _day_matches(self.by, wall.date()):
                return wall
            anchor = self._step_to_a_day(_anchor(self.parts, self.start, wall), limit)
        return None

    def last_of(self, count: int) -> datetime:
        """The wall time that COUNT ends with."""
        walls = _dateutil_rule(self.parts, _anchor(self.parts, self.start, self.start), self.by)
        *_, last = islice((wall for wall in walls if wall >= self.start), count)
        return last

    def _step_to_a_day(self, anchor: datetime, limit: datetime) -> datetime | None:
        """The first period from `anchor` on that begins on a day of the rule, up to `limit`."""
        length = self.parts.interval * _UNIT[self.parts.freq]
        while not _day_matches(self.by, anchor.date()):
            if length < _DAY:
                # Several periods fall on each day: go to the first of the next day.
                midnight = datetime.combine(anchor.date() + _DAY, anchor.min.time())
                anchor += -(-(midnight - anchor) // length) * length
            else:
                anchor += length
            if anchor > limit:
                return None
        return anchor


def read_rule(text: str) -> RecurrenceRule:
    """Read a rule (upper case, single spaces).

    Raises:
        InvalidSchedule: names the part and what would be right.
        NeverFires: no time satisfies all parts.
    """
    parts = read_parts(text)
    start = parts.start or _UNSTARTED
    by = _explicit(parts, start)
    rule = RecurrenceRule(text, parts, start, by, parts.until_wall, parts.until_instant)
    _refuse_impossible_days(rule)
    _refuse_impossible_positions(rule)
    try:
        _dateutil_rule(parts, _anchor(parts, start, start), by)
    except ValueError as error:
        raise NeverFires(f"RRULE: {error}; the rule `{text}` never comes", field="RRULE") from error
    first = rule.next_wall(start - _MICROSECOND)
    if first is None:
        raise NeverFires(
            f"the rule `{text}` never comes: no time within a hundred years satisfies all parts",
            field="RRULE",
        )
    if parts.count is not None:
        rule = replace(rule, last=rule.last_of(parts.count))
    return rule


def _dateutil_rule(parts: Parts, anchor: datetime, by: dict[str, Any]) -> rrule:
    freq: Any = parts.freq
    return rrule(freq, dtstart=anchor, interval=parts.interval, wkst=parts.wkst, **by)


def _explicit(parts: Parts, start: datetime) -> dict[str, tuple[Any, ...]]:
    """The BY parts, those that follow from DTSTART written out (RFC 5545, DTSTART's defaults)."""
    by = dict(parts.by)
    freq = parts.freq
    if any(_ordinal(day) for day in by.get("byweekday", ())):
        # BYDAY is a list of alternatives; dateutil wants plain and numbered days both to match.
        most = 5 if freq == MONTHLY or "bymonth" in by else 53
        by["byweekday"] = tuple(
            numbered
            for day in by["byweekday"]
            for numbered in ([day] if _ordinal(day) else [day(n) for n in range(1, most + 1)])
        )
    if not by.keys() & {"byweekno", "byyearday", "bymonthday", "byweekday"}:
        if freq == YEARLY:
            by.setdefault("bymonth", (start.month,))
            by["bymonthday"] = (start.day,)
        elif freq == MONTHLY:
            by["bymonthday"] = (start.day,)
        elif freq == WEEKLY:
            by["byweekday"] = (start.weekday(),)
    for finest, name, value in (
        (HOURLY, "byhour", start.hour),
        (MINUTELY, "byminute", start.minute),
        (SECONDLY, "bysecond", start.second),
    ):
        if freq < finest:
            by.setdefault(name, (value,))
    return by


def _anchor(parts: Parts, start: datetime, after: datetime) -> datetime:
    """The start of the last period, in step with INTERVAL, that begins at or before `after`."""
    if parts.freq == YEARLY:
        steps = max(0, after.year - start.year) // parts.interval
        return datetime(start.year + steps * parts.interval, 1, 1)  # noqa: DTZ001 - wall time
    if parts.freq == MONTHLY:
        first = start.year * 12 + start.month - 1
        months = max(0, after.year * 12 + after.month - 1 - first)
        year, month = divmod(first + months // parts.interval * parts.interval, 12)
        return datetime(year, month + 1, 1)  # noqa: DTZ001 - wall time
    period = _period_start(parts, start)
    length = parts.interval * _UNIT[parts.freq]
    return period + max(0, (after - period) // length) * length


def _period_start(parts: Parts, start: datetime) -> datetime:
    match parts.freq:
        case 2:
            day = start.replace(hour=0, minute=0, second=0)
            return day - timedelta(days=(day.weekday() - parts.wkst) % 7)
        case 3:
            return start.replace(hour=0, minute=0, second=0)
        case 4:
            return start.replace(minute=0, second=0)
        case 5:
            return start.replace(second=0)
        case _:
            return start


def _day_matches(by: dict[str, tuple[Any, ...]], day: date) -> bool:
    """Whether the parts that name days leave this one in (ordinals of week days not looked at)."""
    if "bymonth" in by and day.month not in by["bymonth"]:
        return False
    if "byweekday" in by and day.weekday() not in {_weekday(each) for each in by["byweekday"]}:
        return False
    if "bymonthday" in by and not {day.day, day.day - _month_length(day) - 1} & set(
        by["bymonthday"]
    ):
        return False
    if "byyearday" in by:
        number = day.timetuple().tm_yday
        return bool({number, number - _year_length(day) - 1} & set(by["byyearday"]))
    return True


def _refuse_impossible_days(rule: RecurrenceRule) -> None:
    """Exact for days named by month, month day, year day and week day: there are 14 calendars."""
    months = rule.by.get("bymonth")
    if rule.parts.freq == MONTHLY and months:
        start = rule.start.month - 1
        reached = {(start + k * rule.parts.interval) % 12 + 1 for k in range(12)}
        if not reached & set(months):
            raise NeverFires(
                f"the rule `{rule.text}` never comes: INTERVAL never reaches a month of BYMONTH",
                field="RRULE",
                part="BYMONTH",
            )
    for year in _ALL_CALENDARS:
        first = date(year, 1, 1)
        if any(_day_matches(rule.by, first + n * _DAY) for n in range(_year_length(first))):
            return
    raise NeverFires(f"the rule `{rule.text}` never comes: no year has such a day", field="RRULE")


def _refuse_impossible_positions(rule: RecurrenceRule) -> None:
    """BYSETPOS beyond what one period can hold; dateutil would look until the year 9999."""
    if "bysetpos" not in rule.by:
        return
    most = _most_days(rule)
    for name, finest in (("byhour", HOURLY), ("byminute", MINUTELY), ("bysecond", SECONDLY)):
        if rule.parts.freq < finest:
            most *= len(rule.by[name])
    if all(abs(position) > most for position in rule.by["bysetpos"]):
        raise NeverFires(
            f"BYSETPOS={rule.by['bysetpos'][0]} never comes: a period of "
            f"FREQ={FREQUENCIES[rule.parts.freq]} has at most {most} times here",
            field="RRULE",
            part="BYSETPOS",
        )


def _most_days(rule: RecurrenceRule) -> int:
    """How many days of one period the rule can choose at most."""
    by = rule.by
    weekdays = by.get("byweekday", range(7))
    match rule.parts.freq:
        case 0 | 1:
            in_month = min(
                31,
                len(by.get("bymonthday", range(31))),
                sum(1 if _ordinal(day) else 5 for day in weekdays),
            )
            if rule.parts.freq == MONTHLY:
                return in_month
            months = len(by.get("bymonth", range(12)))
            return min(len(by.get("byyearday", range(366))), months * in_month)
        case 2:
            return len({_weekday(day) for day in weekdays})
        case _:
            return 1


def _ordinal(day: Any) -> int | None:
    return None if isinstance(day, int) else day.n


def _weekday(day: Any) -> int:
    return day if isinstance(day, int) else int(day.weekday)


def _month_length(day: date) -> int:
    following = date(day.year + day.month // 12, day.month % 12 + 1, 1) if day.year < 9999 else None
    return 31 if following is None else (following - day.replace(day=1)).days


def _year_length(day: date) -> int:
    return 366 if day.year % 4 == 0 and (day.year % 100 != 0 or day.year % 400 == 0) else 365
