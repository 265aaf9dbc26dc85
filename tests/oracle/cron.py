"""Cron lines, decided day by day and minute by minute from what each field says."""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
# In the order of cron's numbers: Sunday is 0, and 7 too.
WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
SATURDAY, SUNDAY = 6, 0

DayTest = Callable[[date], bool]


@dataclass(frozen=True)
class Cron:
    """A line of five or six fields; `walls` are the wall times that it names."""

    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    months: frozenset[int]
    month_days: tuple[DayTest, ...]
    week_days: tuple[DayTest, ...]
    both_days: bool
    fixed: bool

    def on(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_month = any(test(day) for test in self.month_days)
        by_week = any(test(day) for test in self.week_days)
        return (by_month and by_week) if self.both_days else (by_month or by_week)

    def walls(self, first: date, last: date) -> Iterator[datetime]:
        for day in days(first, last):
            if not self.on(day):
                continue
            for hour in sorted(self.hours):
                for minute in sorted(self.minutes):
                    for second in sorted(self.seconds):
                        yield datetime.combine(day, time(hour, minute, second))


def days(first: date, last: date) -> Iterator[date]:
    for number in range((last - first).days + 1):
        yield first + timedelta(days=number)


def parse_cron(line: str) -> Cron:
    fields = line.lower().split()
    if len(fields) == 5:
        fields = ["0", *fields]
    second, minute, hour, month_day, month, week_day = fields
    month_day, week_day = ("*" + f[1:] if f.startswith("?") else f for f in (month_day, week_day))
    return Cron(
        seconds=numbers(second, 0, 59),
        minutes=numbers(minute, 0, 59),
        hours=numbers(hour, 0, 23),
        months=numbers(month, 1, 12, {name: n for n, name in enumerate(MONTHS, 1)}),
        month_days=tuple(month_day_test(item) for item in month_day.split(",")),
        week_days=tuple(week_day_test(item) for item in week_day.split(",")),
        both_days=month_day.startswith("*") or week_day.startswith("*"),
        fixed=not minute.startswith("*") and not hour.startswith("*"),
    )


def numbers(
    field: str, lowest: int, highest: int, names: dict[str, int] | None = None
) -> frozenset[int]:
    """The numbers that a field names: `*`, `a`, `a-b`, each with `/step`, in a list."""
    found: set[int] = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        if span == "*":
            low, high = lowest, highest
        else:
            ends = [(names or {}).get(end) or int(end) for end in span.split("-")]
            low, high = ends[0], ends[-1]
            if step and len(ends) == 1:
                high = highest
        found |= {n for n in range(low, high + 1) if (n - low) % int(step or 1) == 0}
    return frozenset(found)


def cron_weekday(day: date) -> int:
    return day.isoweekday() % 7


def last_of_month(day: date) -> date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def month_day_test(item: str) -> DayTest:
    if item == "l":
        return lambda day: day == last_of_month(day)
    if item == "lw":
        return lambda day: day == last_working_day(day)
    if item.startswith("l-"):
        before = int(item[2:])
        return lambda day: (last_of_month(day) - day).days == before
    if item.endswith("w"):
        number = int(item[:-1])
        return lambda day: day == nearest_working_day(day, number)
    named = numbers(item, 1, 31)
    return lambda day: day.day in named


def last_working_day(month_of: date) -> date:
    day = last_of_month(month_of)
    while cron_weekday(day) in {SATURDAY, SUNDAY}:
        day -= timedelta(days=1)
    return day


def nearest_working_day(month_of: date, number: int) -> date | None:
    """The working day of the month that is nearest to its day `number`; None in a short month."""
    if number > last_of_month(month_of).day:
        return None
    wanted = month_of.replace(day=number)
    for distance in (0, 1, -1, 2, -2):
        # A Saturday has Friday at -1 and Monday at 2; a Sunday has Monday at 1 and Friday at -2.
        day = wanted + timedelta(days=distance)
        if day.month == wanted.month and cron_weekday(day) not in {SATURDAY, SUNDAY}:
            return day
    raise AssertionError("a month has a working day within two days of any day")


def week_day_test(item: str) -> DayTest:
    if "#" in item:
        name, _, ordinal = item.partition("#")
        weekday, nth = weekday_number(name), int(ordinal)
        return lambda day: cron_weekday(day) == weekday and (day.day - 1) // 7 + 1 == nth
    if item.endswith("l"):
        weekday = weekday_number(item[:-1])
        return lambda day: (
            cron_weekday(day) == weekday and (day + timedelta(days=7)).month != day.month
        )
    names = {name: number for number, name in enumerate(WEEKDAYS)}
    # `numbers` takes a 0 for a missing name, so Sunday is spelt as the number it is.
    named = numbers(item.replace("sun", "0"), 0, 7, names)
    return lambda day: bool({cron_weekday(day), day.isoweekday()} & named)


def weekday_number(name: str) -> int:
    return WEEKDAYS.index(name) if name in WEEKDAYS else int(name) % 7
