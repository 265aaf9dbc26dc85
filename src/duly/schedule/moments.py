"""ISO 8601 dates and times as people write them into schedules.

Extended calendar form only (`2026-12-04T18:00`, seconds, fraction and offset optional): the other
forms of the standard are read differently by different programs and Python versions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from duly.errors import InvalidSchedule

_MOMENT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})t([0-9]{2}):([0-9]{2})"
    r"(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?"
    r"(z|[+-][0-9]{2}:[0-9]{2})?"
)
# Zones have no rules before it, and nothing is scheduled then.
FIRST_YEAR = 1900
_DATE_ONLY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class OneOff:
    """A single moment: by the wall of the zone, or absolute where it was given with an offset."""

    moment: datetime

    def next_wall(self, after: datetime) -> datetime | None:
        return self.moment if self.moment > after else None

    def in_words(self) -> str:
        return f"once, at {self.moment:%Y-%m-%d %H:%M:%S}{' UTC' if self.moment.tzinfo else ''}"


def read_moment(text: str, field: str) -> datetime:
    """Read a moment (lower case): aware UTC where it has an offset, else naive wall time.

    Raises InvalidSchedule naming `field`.
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        hint = f"; with a time of day: {text}T00:00" if _DATE_ONLY.fullmatch(text) else ""
        raise InvalidSchedule(
            f"{text!r} is no date and time; write it as 2026-12-04T18:00, with seconds and an "
            f"offset (Z, +05:30) where wanted{hint}",
            field=field,
            part=text,
        )
    *numbers, fraction, offset = match.groups()
    if int(numbers[0]) < FIRST_YEAR:
        raise InvalidSchedule(
            f"{text.upper()} lies too far back; years go from {FIRST_YEAR} to 9999",
            field=field,
            part=text,
        )
    try:
        wall = datetime(*(int(number or 0) for number in numbers))  # type: ignore[arg-type]  # noqa: DTZ001
    except ValueError as error:
        raise InvalidSchedule(
            f"there is no moment {text.upper()}: {error}", field=field, part=text
        ) from error
    wall = wall.replace(microsecond=int((fraction or "").ljust(6, "0")))
    if offset is None:
        return wall
    try:
        return wall.replace(tzinfo=_zone(offset)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidSchedule(
            f"{offset!r} is no offset from UTC; write Z or one up to +23:59",
            field=field,
            part=offset,
        ) from error


def _zone(offset: str) -> timezone:
    if offset == "z":
        return UTC
    hours, minutes = int(offset[1:3]), int(offset[4:6])
    if minutes > 59:
        raise ValueError(offset)
    length = timedelta(hours=hours, minutes=minutes)
    return timezone(-length if offset[0] == "-" else length)
