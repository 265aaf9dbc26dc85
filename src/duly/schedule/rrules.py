"""iCalendar rules (RFC 5545) by python-dateutil, whose two weak spots are mended here.

dateutil walks from DTSTART to the time asked for, and walks on to the year 9999 where nothing
matches. So the parts it would derive from DTSTART are written out, and the walk begins at the last
whole period, in step with INTERVAL, before the time asked for. (That also gives BYSETPOS a
whole first week to choose from, where dateutil would start in its middle.) Rules of daily or finer
frequency need no calendar arithmetic and are walked by `rrule_steps` instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any

from dateutil.rrule import rrule

from duly.errors import NeverFires
from duly.schedule.rrule_parts import FREQUENCIES, Parts, read_parts
from duly.schedule.rrule_steps import (
    DAILY,
    HOURLY,
    MINUTELY,
    SECONDLY,
    Steps,
    day_matches,
    steps_of,
    weekday_of,
    year_length,
)

YEARLY, MONTHLY, WEEKLY = range(3)
_UNSTARTED = datetime(1970, 1, 1)  # noqa: DTZ001 - wall time
_MICROSECOND = timedelta(microseconds=1)
_DAY = timedelta(days=1)
_ALL_CALENDARS = range(2000, 2028)  # each of the fourteen occurs


@dataclass(frozen=True, slots=True)
class RecurrenceRule:
    """A rule that has been read: always fixed, on wall time.

    Args:
        start: DTSTART; nothing comes before it.
        last: the last wall time, from UNTIL or COUNT.
        until: an UNTIL written in UTC.
        steps: how rules of daily or finer frequency are walked; None leaves it to dateutil.
    """

    text: str
    parts: Parts
    start: datetime
    by: dict[str, tuple[Any, ...]]
    last: datetime | None
    until: datetime | None
    steps: Steps | None

    def __hash__(self) -> int:
        return hash(self.text)

    def next_wall(self, after: datetime) -> datetime | None:
        """The next wall time strictly after `after`."""
        after = max(after, self.start - _MICROSECOND)
        if self.last is not None and after >= self.last:
            return None
        try:
            wall = next(self._walls(after), None)
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

    def _walls(self, after: datetime) -> Iterator[datetime]:
        """The wall times after `after`, without regard to the rule's end."""
        if self.steps is not None:
            return self.steps.walls(after)
        walls = _dateutil_rule(self.parts, _anchor(self.parts, self.start, after), self.by)
        return (wall for wall in walls if wall > after)

    def last_of(self, count: int) -> datetime:
        """The wall time that COUNT ends with."""
        *_, last = islice(self._walls(self.start - _MICROSECOND), count)
        return last


def read_rule(text: str) -> RecurrenceRule:
    """Read a rule (upper case, single spaces).

    Raises:
        InvalidSchedule: names the part and what would be right.
        NeverFires: no time satisfies all parts.
    """
    parts = read_parts(text)
    start = parts.start or _UNSTARTED
    by = _explicit(parts, start)
    steps = steps_of(parts, start, by) if parts.freq >= DAILY else None
    rule = RecurrenceRule(text, parts, start, by, parts.until_wall, parts.until_instant, steps)
    _refuse_impossible_days(rule)
    _refuse_impossible_positions(rule)
    if steps is not None and not steps.ever_at_such_a_time():
        raise NeverFires(
            f"the rule `{text}` never comes: in steps of INTERVAL it never reaches such a time of "
            "day",
            field="RRULE",
            part="INTERVAL",
        )
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
    midnight = start.replace(hour=0, minute=0, second=0)
    period = midnight - timedelta(days=(midnight.weekday() - parts.wkst) % 7)
    length = timedelta(weeks=parts.interval)
    return period + max(0, (after - period) // length) * length


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
        if any(day_matches(rule.by, first + n * _DAY) for n in range(year_length(first))):
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
            return len({weekday_of(day) for day in weekdays})
        case _:
            return 1


def _ordinal(day: Any) -> int | None:
    return None if isinstance(day, int) else day.n
