"""Every instant of a schedule in a span of time, the slow way: the judge of `duly.schedule`.

Written from the contract of the schedule language alone, with the standard library; it shares no
code with the product. It expects a valid schedule: refusing others is not its business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Protocol

from tests.oracle.cron import parse_cron
from tests.oracle.rrule import parse_rrule
from tests.oracle.zones import gap_end, instants, span, wall

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MONDAY = datetime(1970, 1, 5, tzinfo=UTC)
WEEK_S = 7 * 24 * 3600
UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600, "w": WEEK_S}
NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}


class WallTimes(Protocol):
    @property
    def fixed(self) -> bool: ...

    def walls(self, first: date, last: date) -> Iterator[datetime]: ...


def expand(
    text: str,
    zone: str,
    start: datetime,
    end: datetime,
    *,
    gap: str = "after",
    repeat: str = "first",
) -> list[datetime]:
    """Every instant of the schedule after `start`, up to and with `end`."""
    text = " ".join(text.lower().split())
    if text.startswith(("every ", "@every ")):
        found = interval_instants(text, zone, start, end)
    elif text.startswith("at "):
        found = one_off_instants(text.removeprefix("at "), zone, gap, repeat)
    else:
        times = wall_times(text)
        lowest, highest = span(zone, start, end)
        found = {
            instant
            for each in times.walls(lowest.date(), highest.date())
            if lowest <= each <= highest
            for instant in instants_of(each, zone, fixed=times.fixed, gap=gap, repeat=repeat)
        }
    return sorted(instant for instant in found if start < instant <= end)


def next_times(
    text: str,
    zone: str,
    after: datetime,
    count: int,
    limit_days: int,
    *,
    gap: str = "after",
    repeat: str = "first",
) -> list[datetime]:
    """The first `count` instants after `after`; fewer if `limit_days` hold fewer."""
    found: list[datetime] = []
    limit = after + timedelta(days=limit_days)
    start, length = after, timedelta(hours=1)
    while len(found) < count and start < limit:
        end = min(start + length, limit)
        found += expand(text, zone, start, end, gap=gap, repeat=repeat)
        start, length = end, length * 2
    return found[:count]


def instants_of(
    wall_time: datetime, zone: str, *, fixed: bool, gap: str, repeat: str
) -> list[datetime]:
    found = instants(zone, wall_time)
    if not fixed:
        return found
    if not found:
        return [] if gap == "skip" else [gap_end(zone, wall_time)]
    match repeat:
        case "first":
            return found[:1]
        case "second":
            return found[-1:]
        case _:
            return found


def wall_times(text: str) -> WallTimes:
    if "rrule:" in text:
        return parse_rrule(text)
    if text in NICKNAMES:
        return parse_cron(NICKNAMES[text])
    if text[0].isalpha():
        return parse_cron(cron_of_phrase(text))
    return parse_cron(text)


def cron_of_phrase(text: str) -> str:
    """The cron line that says the same as a phrase."""
    words = text.split()
    if words == ["hourly"]:
        return "0 * * * *"
    clock = " ".join(str(int(part)) for part in reversed(words[-1].split(":")))
    match words[:-1]:
        case ["daily"]:
            days = "* * *"
        case ["weekdays"]:
            days = "* * 1-5"
        case ["weekends"]:
            days = "* * 6,0"
        case ["weekly", weekdays]:
            days = f"* * {weekdays}"
        case ["monthly", *day]:
            days = days_of_month(day)
        case ["yearly", month_and_day]:
            month, _, number = month_and_day.partition("-")
            days = f"{int(number)} {int(month)} *"
        case _:
            raise AssertionError(f"no such phrase: {text}")
    return f"{clock} {days}"


def days_of_month(words: list[str]) -> str:
    """The day fields of `1`, `last`, `last fri` and `second tue`."""
    match words:
        case ["last"]:
            return "L * *"
        case [number]:
            return f"{number} * *"
        case ["last", weekday]:
            return f"* * {weekday}L"
        case [ordinal, weekday]:
            return f"* * {weekday}#{ORDINALS[ordinal]}"
        case _:
            raise AssertionError(f"no such day: {words}")


def one_off_instants(text: str, zone: str, gap: str, repeat: str) -> set[datetime]:
    when = datetime.fromisoformat(text.upper())
    if when.tzinfo is not None:
        return {when.astimezone(UTC)}
    return set(instants_of(when, zone, fixed=True, gap=gap, repeat=repeat))


def interval_instants(text: str, zone: str, start: datetime, end: datetime) -> set[datetime]:
    """Elapsed time, counted from the anchor."""
    length_text, _, anchor_text = text.partition(" from ")
    length_s = interval_s(length_text.split(" ", 1)[1])
    if anchor_text:
        (origin,) = one_off_instants(anchor_text, zone, "after", "first")
    else:
        origin = MONDAY if length_s % WEEK_S == 0 else EPOCH
    length = timedelta(seconds=length_s)
    number = (start - origin) // length
    found = set()
    while origin + number * length <= end:
        if number >= 0 or not anchor_text:
            found.add(origin + number * length)
        number += 1
    return found


def interval_s(text: str) -> int:
    """The seconds of `hour`, `5 minutes`, `1h30m`."""
    parts = re.findall(r"(\d*) ?([a-z]+)", text)
    return sum(int(number or 1) * UNITS_S[unit[0]] for number, unit in parts)


def shown(zone: str, times: list[datetime]) -> list[str]:
    """Instants with their wall times, for the message of a failure."""
    return [f"{t:%Y-%m-%dT%H:%M:%SZ} ({wall(zone, t):%a %Y-%m-%d %H:%M:%S})" for t in times]
