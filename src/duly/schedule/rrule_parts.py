"""The parts of an iCalendar RRULE (RFC 5545, 3.3.10): what each may be, and what it may not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from typing import Any, NoReturn

from dateutil import rrule

from duly.errors import InvalidSchedule
from duly.schedule.moments import FIRST_YEAR

FREQUENCIES = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY")
_DAYS = {"MO": rrule.MO, "TU": rrule.TU, "WE": rrule.WE, "TH": rrule.TH}
_DAYS |= {"FR": rrule.FR, "SA": rrule.SA, "SU": rrule.SU}
_EXAMPLE = "RRULE:FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=18;BYMINUTE=0"
_STAMP = re.compile(r"([0-9]{8})T([0-9]{6})")
MOST_COUNTED = 50_000


@dataclass(frozen=True, slots=True)
class Parts:
    """What a rule says.

    Args:
        freq: dateutil's number of the frequency, YEARLY (0) to SECONDLY (6).
        start: DTSTART as wall time, or None.
        until_wall, until_instant: the last moment, by the wall or (written with Z) absolute.
        by: the BY… parts under dateutil's argument names.
    """

    freq: int
    interval: int = 1
    wkst: int = 0
    start: datetime | None = None
    count: int | None = None
    until_wall: datetime | None = None
    until_instant: datetime | None = None
    by: dict[str, tuple[Any, ...]] = field(default_factory=dict)


def read_parts(text: str) -> Parts:
    """Read `[DTSTART:… ]RRULE:…` (upper case, single spaces). Raises InvalidSchedule."""
    start: datetime | None = None
    if text.startswith("DTSTART"):
        head, _, text = text.partition(" ")
        start = _start(head)
    if not text.startswith("RRULE:"):
        _refuse(
            f"after DTSTART comes RRULE:, for example `DTSTART:20260105T090000 {_EXAMPLE}`",
            text or "RRULE",
        )
    if " " in text:
        extra = text.split(" ", 1)[1]
        what = extra.partition(":")[0].partition(";")[0]
        hint = "; EXDATE, RDATE and EXRULE are not known" if what.startswith(("EX", "RD")) else ""
        _refuse(f"nothing may follow the rule, but {extra!r} does{hint}", what)
    values = _split(text.removeprefix("RRULE:"))
    return _parts(values, start)


def _split(rule: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for item in rule.rstrip(";").split(";"):
        name, equals, value = item.partition("=")
        if not equals or not value:
            _refuse(f"{item!r} is not NAME=VALUE; for example `{_EXAMPLE}`", item)
        if name in values:
            _refuse(f"{name} comes twice; give it once, with a list where needed", name)
        if name not in _READERS:
            _refuse(f"{name!r} is no part of a rule; known are {', '.join(_READERS)}", name)
        values[name] = value
    if "FREQ" not in values:
        _refuse(f"a rule needs FREQ, for example `{_EXAMPLE}`", "FREQ")
    return values


def _parts(values: dict[str, str], start: datetime | None) -> Parts:
    read = {name: _READERS[name](value, name) for name, value in values.items()}
    freq = read["FREQ"]
    by = {name.lower(): value for name, value in read.items() if name.startswith("BY")}
    if "byday" in by:
        by["byweekday"] = by.pop("byday")
    _check(values, by, freq, start)
    until = read.get("UNTIL")
    aware = until is not None and until.tzinfo is not None
    return Parts(
        freq=freq,
        interval=read.get("INTERVAL", 1),
        wkst=read.get("WKST", 0),
        start=start,
        count=read.get("COUNT"),
        until_wall=None if aware else until,
        until_instant=until if aware else None,
        by=by,
    )


def _check(
    values: dict[str, str],
    by: dict[str, tuple[Any, ...]],
    freq: int,
    start: datetime | None,
) -> None:
    """The rules between parts."""
    if "COUNT" in values and "UNTIL" in values:
        _refuse("COUNT and UNTIL exclude each other; give one", "COUNT")
    if "COUNT" in values and start is None:
        _refuse(
            "COUNT needs a start to count from; write `DTSTART:20260105T090000 RRULE:…`, or use "
            "UNTIL",
            "COUNT",
        )
    if "bysetpos" in by and len(by) == 1:
        _refuse("BYSETPOS chooses among others; add BYDAY or another BY part", "BYSETPOS")
    frequency = FREQUENCIES[freq]
    if "byweekno" in by and frequency != "YEARLY":
        _refuse("BYWEEKNO goes with FREQ=YEARLY only", "BYWEEKNO")
    if "byyearday" in by and frequency in ("MONTHLY", "WEEKLY", "DAILY"):
        _refuse(f"BYYEARDAY does not go with FREQ={frequency}; use YEARLY", "BYYEARDAY")
    if "bymonthday" in by and frequency == "WEEKLY":
        _refuse("BYMONTHDAY does not go with FREQ=WEEKLY; use MONTHLY or DAILY", "BYMONTHDAY")
    nths = [day.n for day in by.get("byweekday", ()) if isinstance(day, rrule.weekday) and day.n]
    if nths and (frequency not in ("YEARLY", "MONTHLY") or "byweekno" in by):
        _refuse("a day with a number (2MO, -1FR) goes with FREQ=MONTHLY or YEARLY only", "BYDAY")
    monthly = frequency == "MONTHLY" or "bymonth" in by
    if nths and monthly and max(abs(n) for n in nths) > 5:
        _refuse("a month has at most five of each day: 1MO to 5MO, -1MO to -5MO", "BYDAY")


def _start(head: str) -> datetime:
    name, _, value = head.partition(":")
    if name != "DTSTART":
        _refuse(
            "DTSTART is wall time in the job's zone; leave its parameters out and set the job's "
            "timezone",
            name,
        )
    match = _STAMP.fullmatch(value)
    if match is None:
        zoned = " (no Z: it is wall time in the job's zone)" if value.endswith("Z") else ""
        _refuse(f"DTSTART is written 20260105T090000{zoned}", value)
    start = _moment(value, "DTSTART")
    if start.year < FIRST_YEAR:
        _refuse(f"DTSTART lies too far back; years go from {FIRST_YEAR} to 9999", value)
    return start


def _moment(value: str, name: str) -> datetime:
    try:
        return datetime.strptime(value, "%Y%m%dT%H%M%S")  # noqa: DTZ007 - wall time
    except ValueError:
        _refuse(f"there is no moment {value}", name)


def _until(value: str, name: str) -> datetime:
    """Wall time, UTC with Z, or a date alone: then through the end of that day."""
    stamp = value.removesuffix("Z")
    if _STAMP.fullmatch(stamp):
        until = _moment(stamp, name)
        return until.replace(tzinfo=UTC) if value.endswith("Z") else until
    if re.fullmatch(r"[0-9]{8}", value):
        return datetime.combine(_moment(f"{value}T000000", name), time.max)
    _refuse("UNTIL is written 20261231T235959, 20261231T225959Z or 20261231", name)


def _freq(value: str, name: str) -> int:
    if value not in FREQUENCIES:
        _refuse(f"FREQ={value} is not known; it is one of {', '.join(FREQUENCIES)}", name)
    return FREQUENCIES.index(value)


def _one(low: int, high: int) -> Callable[[str, str], int]:
    def read(value: str, name: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", value) or not low <= int(value) <= high:
            _refuse(f"{name}={value[:20]} is not between {low} and {high}", name)
        return int(value)

    return read


def _many(low: int, high: int, *, signed: bool = False) -> Callable[[str, str], tuple[int, ...]]:
    def read(value: str, name: str) -> tuple[int, ...]:
        numbers = []
        for item in value.split(","):
            number = int(item) if re.fullmatch(r"[+-]?[0-9]{1,4}", item) else None
            fits = number is not None and (
                low <= abs(number) <= high and (signed or not item.startswith(("-", "+")))
            )
            if number is None or not fits:
                span = f"{low} to {high}" + (f", or -{low} to -{high}" if signed else "")
                _refuse(f"{name}: {item[:20]!r} is not in {span}", name)
            numbers.append(number)
        return tuple(sorted(set(numbers)))

    return read


def _weekdays(value: str, name: str) -> tuple[Any, ...]:
    days = []
    for item in value.split(","):
        match = re.fullmatch(r"([+-]?[0-9]{1,2})?([A-Z]{2})", item)
        if match is None or match[2] not in _DAYS:
            _refuse(f"{name}: {item[:20]!r} is no day; write MO to SU, or 2MO, -1FR", name)
        number = int(match[1]) if match[1] else None
        if number is not None and not 1 <= abs(number) <= 53:
            _refuse(f"{name}: {item!r} counts from 1 to 53, or from -1 to -53", name)
        day = _DAYS[match[2]]
        days.append(day if number is None else day(number))
    return tuple(days)


def _wkst(value: str, name: str) -> int:
    if value not in _DAYS:
        _refuse(f"WKST={value[:20]} is no day; write MO to SU", name)
    return int(_DAYS[value].weekday)


_READERS: dict[str, Callable[[str, str], Any]] = {
    "FREQ": _freq,
    "INTERVAL": _one(1, 100_000_000),
    "COUNT": _one(1, MOST_COUNTED),
    "UNTIL": _until,
    "WKST": _wkst,
    "BYMONTH": _many(1, 12),
    "BYMONTHDAY": _many(1, 31, signed=True),
    "BYYEARDAY": _many(1, 366, signed=True),
    "BYWEEKNO": _many(1, 53, signed=True),
    "BYDAY": _weekdays,
    "BYHOUR": _many(0, 23),
    "BYMINUTE": _many(0, 59),
    "BYSECOND": _many(0, 59),
    "BYSETPOS": _many(1, 366, signed=True),
}


def _refuse(why: str, part: str) -> NoReturn:
    raise InvalidSchedule(f"RRULE: {why}", field="RRULE", part=part)
