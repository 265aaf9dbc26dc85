"""Time zones of the IANA database, and the moments at which they change.

Names and rules come from the `tzdata` package alone, never from the machine: all processes of a
cluster then agree about an instant, whatever their systems ship.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from importlib.resources import files
from zoneinfo import ZoneInfo

from duly.errors import UnknownZone

_SECOND = timedelta(seconds=1)
# Changes closer together than this would be lost. Since 1970 no zone has two within a day.
_SAMPLE = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of a zone's offset from UTC.

    Args:
        at: the first instant with the new offset.
        before, after: the two offsets.
    """

    at: datetime
    before: timedelta
    after: timedelta

    @property
    def is_gap(self) -> bool:
        """Wall times are left out (True), or come twice (False)."""
        return self.after > self.before


@cache
def zone_names() -> frozenset[str]:
    """All names that a job's zone may have."""
    return frozenset(files("tzdata").joinpath("zones").read_text("utf-8").split())


@lru_cache(maxsize=1024)
def load_zone(name: str) -> ZoneInfo:
    """The zone of that name. Raises UnknownZone with the nearest names."""
    if name not in zone_names():
        folded = {known.lower(): known for known in zone_names()}
        near = difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.6)
        known = ", ".join(folded[each] for each in near) or "Europe/Berlin, America/New_York, UTC"
        raise UnknownZone(
            f"unknown time zone {name!r}; use a name of the IANA database, for example {known}",
            field="zone",
            part=name,
        )
    *folders, last = name.split("/")
    place = files("tzdata").joinpath("zoneinfo", *folders, last)
    with place.open("rb") as data:
        return ZoneInfo.from_file(data, key=name)


def offset_at(zone: ZoneInfo, instant: datetime) -> timedelta:
    offset = instant.astimezone(zone).utcoffset()
    assert offset is not None
    return offset


@lru_cache(maxsize=65_536)
def transitions(zone: ZoneInfo, year: int) -> tuple[Transition, ...]:
    """The zone's changes within a UTC year (without its first instant, with its end)."""
    found = []
    start = datetime(year, 1, 1, tzinfo=UTC)
    end = datetime(year + 1, 1, 1, tzinfo=UTC) if year < 9999 else datetime.max.replace(tzinfo=UTC)
    offset = offset_at(zone, start)
    while start < end:
        stop = min(start + _SAMPLE, end) if end - start > _SAMPLE else end
        following = offset_at(zone, stop)
        if following != offset:
            at = _bisect(zone, start, stop)
            found.append(Transition(at, offset, following))
        start, offset = stop, following
    return tuple(found)


def first_transition(zone: ZoneInfo, after: datetime, until: datetime) -> Transition | None:
    """The first change in (after, until]."""
    for year in range(after.year, until.year + 1):
        for change in transitions(zone, year):
            if change.at > until:
                return None
            if change.at > after:
                return change
    return None


def _bisect(zone: ZoneInfo, low: datetime, high: datetime) -> datetime:
    """The first whole second in (low, high] with the offset that `high` has."""
    offset = offset_at(zone, high)
    while high - low > _SECOND:
        middle = low + timedelta(seconds=(high - low) // _SECOND // 2)
        if offset_at(zone, middle) == offset:
            high = middle
        else:
            low = middle
    return high
