"""Wall times and instants, by definition.

An instant i has the wall time w when the zone's clock shows w at i. A wall time with no instant is
in a gap; one with two instants comes twice. The rules are those of the `tzdata` package.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from zoneinfo import ZoneInfo

STEP = timedelta(hours=3)
SECOND = timedelta(seconds=1)
NEAR = timedelta(days=2)  # no zone's clock is further from UTC, and no jump is longer


@cache
def zone_info(name: str) -> ZoneInfo:
    folder = resources.files("tzdata") / "zoneinfo"
    with folder.joinpath(*name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def wall(zone: str, instant: datetime) -> datetime:
    """What the clock on the wall shows, without a zone."""
    return instant.astimezone(zone_info(zone)).replace(tzinfo=None)


def offset(zone: str, instant: datetime) -> timedelta:
    return wall(zone, instant) - instant.replace(tzinfo=None)


@cache
def changes(zone: str, year: int) -> tuple[datetime, ...]:
    """The instants of a UTC year at which the clock on the wall jumps; found by walking through it.

    The instant of a change is the first that shows the new time. No zone jumps twice in a STEP.
    """
    found = []
    before, after = datetime(year, 1, 1, tzinfo=UTC) - STEP, datetime(year, 1, 1, tzinfo=UTC)
    while before.year <= year:
        if offset(zone, before) != offset(zone, after):
            found.append(_first_with_new_offset(zone, before))
        before, after = after, after + STEP
    return tuple(change for change in found if change.year == year)


def _first_with_new_offset(zone: str, before: datetime) -> datetime:
    """The first second of the step after `before` that has the offset of the step's end."""
    low, high = 0, STEP // SECOND
    while high - low > 1:
        middle = (low + high) // 2
        if offset(zone, before + middle * SECOND) == offset(zone, before):
            low = middle
        else:
            high = middle
    return before + high * SECOND


def span(zone: str, start: datetime, end: datetime) -> tuple[datetime, datetime]:
    """The lowest and the highest that the wall can show from `start` to `end`, and just before.

    A gap that ends in that time lies between what the wall shows before and after its end: its
    wall times are within.
    """
    jumps = [c for year in range(start.year, end.year + 1) for c in changes(zone, year)]
    moments = [start, *(jump for jump in jumps if start < jump <= end)]
    offsets = [offset(zone, moment) for moment in moments]
    low, high = start.replace(tzinfo=None), end.replace(tzinfo=None)
    return low + min(offsets), high + max(offsets)


def changes_near(zone: str, wall_time: datetime) -> list[datetime]:
    middle = wall_time.replace(tzinfo=UTC)
    years = range((middle - NEAR).year, (middle + NEAR).year + 1)
    return [c for year in years for c in changes(zone, year) if abs(c - middle) <= NEAR]


def instants(zone: str, wall_time: datetime) -> list[datetime]:
    """Every instant at which the wall shows `wall_time`: none in a gap, two in a repeat."""
    as_utc = wall_time.replace(tzinfo=UTC)
    moments = [as_utc - NEAR, *changes_near(zone, wall_time)]
    offsets = {offset(zone, moment) for moment in moments}
    candidates = sorted(as_utc - by for by in offsets)
    return [instant for instant in candidates if wall(zone, instant) == wall_time]


def gap_end(zone: str, wall_time: datetime) -> datetime:
    """The first instant after the gap that holds `wall_time`."""
    ends = [
        change
        for change in changes_near(zone, wall_time)
        if wall(zone, change - SECOND) < wall_time < wall(zone, change)
    ]
    assert len(ends) == 1, f"{wall_time} is in no gap of {zone}"
    return ends[0]
