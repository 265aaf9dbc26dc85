"""Cron lines: five fields, or six with seconds first. cronsim finds the times; what it lacks
(`L-2`, `15W`, exact refusal of what never comes) is added here.
"""

from __future__ import annotations

import calendar
import copy
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from cronsim import CronSim
from cronsim.explain import Expression

from duly.errors import InvalidSchedule, NeverFires
from duly.schedule import cron_fields
from duly.schedule.cron_fields import Field, read_field

_KINDS = (
    cron_fields.SECOND,
    cron_fields.MINUTE,
    cron_fields.HOUR,
    cron_fields.DAY,
    cron_fields.MONTH,
    cron_fields.WEEKDAY,
)

NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

_LONGEST = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

# In any 28 years without a century that is no leap year each of the fourteen calendars (leap or
# not, seven first days) occurs. What matches none of them never comes.
_ALL_CALENDARS = range(2000, 2028)


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron line that has been read.

    Args:
        line: normalised: lower case, one space between fields.
        fixed: neither minute nor hour starts with `*`, so each wall time is one slot.
    """

    line: str
    fields: tuple[Field, ...]
    fixed: bool
    _sim: _Walls

    def next_wall(self, after: datetime) -> datetime | None:
        """The next wall time strictly after `after`, to the second."""
        sim = copy.copy(self._sim)
        sim.dt = after.replace(microsecond=0)
        try:
            return next(sim)
        except (StopIteration, OverflowError, ValueError):
            # None for fifty years, though some day matches: the calendar has ended (year 9999).
            return None

    def in_words(self) -> str:
        parts = self.line.replace("?", "*").upper().split()
        plain = not any(field.wide_step or _is_moving(field) for field in self.fields)
        if plain:
            return Expression(parts if len(parts) == 6 else ["0", *parts]).explain()
        # cronsim's words do not know L-2 and 15W, and take */90 at its word.
        names = [kind.name for kind in _KINDS][-len(parts) :]
        told = zip(names, parts, strict=True)
        return "when " + ", ".join(f"{name} is {text.lower()}" for name, text in told)

    def warnings(self) -> list[str]:
        found = []
        for kind, field in zip(_KINDS, self.fields, strict=True):
            if field.wide_step is not None:
                found.append(_too_wide(kind.name, field.wide_step, kind.unit))
        days = self.fields[3]
        if days.numbers and min(days.numbers) > 28 and not days.special and self.fields[5].starred:
            lacking = _lacking(min(days.numbers), self.fields[4].numbers)
            if lacking:
                found.append(
                    f"day {min(days.numbers)} does not exist in {lacking}, without a run there; "
                    "the last day of each month is L (or `monthly last`)"
                )
        return found


def read_cron(line: str) -> Cron:
    """Read a line of five or six fields (lower case, single spaces).

    Raises:
        InvalidSchedule: names the field, the part and a form that would be right.
        NeverFires: no day of any year matches.
    """
    parts = line.split(" ")
    if len(parts) == 7:
        raise InvalidSchedule(
            "seven fields: a year field is not known; leave the year out, or for a single date "
            "write it as `at 2027-01-01T12:00`",
            field="year",
            part=parts[6],
        )
    if len(parts) not in (5, 6):
        raise InvalidSchedule(
            f"{len(parts)} fields where a cron line has five (minute, hour, day of month, month, "
            "day of week), or six with the second first; for example `30 2 * * mon-fri`"
        )
    given = parts if len(parts) == 6 else ["0", *parts]
    fields = tuple(read_field(kind, text) for kind, text in zip(_KINDS, given, strict=True))
    sim = _Walls(fields)
    if not _ever(sim):
        raise NeverFires(
            f"the cron line `{line}` never comes: no year has such a day; "
            "check day of month, month and day of week together",
            field="day of month",
            part=given[3],
        )
    return Cron(line, fields, not (fields[1].starred or fields[2].starred), sim)


def _too_wide(name: str, step: int, unit: str | None) -> str:
    told = f"{name}: a step of {step} is wider than its field, so only the first value counts"
    return told if unit is None else f"{told}; for every {step} {unit} write `every {step} {unit}`"


def _lacking(day: int, months: frozenset[int]) -> str:
    """The months of a line that do not have a day, told; empty where all have it."""
    if day == 29:
        return "February in most years" if 2 in months else ""
    lacking = [cron_fields.MONTHS[m - 1].capitalize() for m in sorted(months) if _LONGEST[m] < day]
    count = f"{len(lacking)} month{'' if len(lacking) == 1 else 's'}"
    return f"{count} ({', '.join(lacking)})" if lacking else ""


def cloud_form(text: str) -> str | None:
    """What EventBridge's `cron(…)` and `rate(…)` would be here, or None for anything else."""
    match = re.fullmatch(r"(cron|rate)\((.*)\)?", text)
    if match is None:
        return None
    inner = match[2].rstrip(")").strip()
    if match[1] == "rate":
        return f"rate(...) is not known; write `every {inner or '5 minutes'}`"
    five = " ".join("*" if part == "?" else part for part in inner.split()[:5])
    return (
        f"cron(...) is not known; write the five fields alone, without the year: `{five}` "
        "(and mind the days of the week: here 0 and 7 are Sunday, there 1 is)"
    )


class _Walls(CronSim):
    """cronsim with the sets of our own reader, on naive wall time (it then knows no zone)."""

    def __init__(self, fields: tuple[Field, ...]) -> None:
        super().__init__("* * * * * *", datetime(2000, 1, 1))  # noqa: DTZ001 - wall time
        seconds, minutes, hours, days, months, weekdays = fields
        self.seconds = set(seconds.numbers)
        self.minutes = set(minutes.numbers)
        self.hours = set(hours.numbers)
        self.days = set(days.numbers)
        self.months = set(months.numbers)
        self.weekdays = {*weekdays.numbers, *weekdays.special}  # type: ignore[arg-type]
        # Debian's cron: both day fields must match where either starts with *, else either one.
        self.day_and = days.starred or weekdays.starred
        self._moving = days.special

    def match_dom(self, d: date) -> bool:
        if d.day in self.days:
            return True
        return any(_moves_to(kind, number, d) for kind, number in self._moving)  # type: ignore[arg-type]


def _moves_to(kind: str, number: int, day: date) -> bool:
    last = calendar.monthrange(day.year, day.month)[1]
    if kind == "L":
        return day.day == last - number
    if kind == "LW":
        return day.day == _nearest_weekday(day.replace(day=last)).day
    return number <= last and day.day == _nearest_weekday(day.replace(day=number)).day


def _nearest_weekday(day: date) -> date:
    """The weekday nearest to a day, never in another month (as Quartz's W)."""
    weekday = day.weekday()
    if weekday == calendar.SATURDAY:
        return day + timedelta(days=2 if day.day == 1 else -1)
    if weekday == calendar.SUNDAY:
        last = calendar.monthrange(day.year, day.month)[1]
        return day + timedelta(days=-2 if day.day == last else 1)
    return day


def _is_moving(field: Field) -> bool:
    return any(kind in ("L", "W") and number for kind, number in field.special)


def _ever(sim: _Walls) -> bool:
    for year in _ALL_CALENDARS:
        for month in sorted(sim.months):
            first = date(year, month, 1)
            for n in range(calendar.monthrange(year, month)[1]):
                if sim.match_day(first + timedelta(days=n)):
                    return True
    return False
