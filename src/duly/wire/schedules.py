"""Schedules at the edge: read once, told in words.

Few distinct schedules stand behind many jobs, so what was told of one is kept for an hour.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

from duly.errors import InvalidSchedule, UnknownZone
from duly.job import JobSpec
from duly.schedule import Gap, Repeat, Schedule, parse
from duly.wire.faults import Fault

_E = TypeVar("_E", bound=StrEnum)


def read_schedule(fields: Mapping[str, Any]) -> tuple[str | None, list[Fault]]:
    """The schedule among a body's fields in its normal form, or what is wrong with it.

    Fields of a wrong type are somebody else's faults and count as not given here.
    """
    text, zone = fields.get("schedule"), fields.get("timezone")
    if not isinstance(text, str):
        return None, []
    zone = zone if isinstance(zone, str) else "UTC"
    gap = _choice(Gap, fields.get("gap"), Gap.AFTER)
    repeat = _choice(Repeat, fields.get("repeat"), Repeat.FIRST)
    try:
        return parse(text, zone, gap=gap, repeat=repeat).text, []
    except UnknownZone as error:
        # The rest of the schedule may be wrong as well: one answer tells both.
        _, more = read_schedule({**fields, "timezone": "UTC"}) if zone != "UTC" else (None, [])
        return None, [Fault("/timezone", str(error)), *more]
    except InvalidSchedule as error:
        return None, [Fault("/schedule", str(error))]


def tell_schedule(spec: JobSpec, now: datetime) -> tuple[str | None, tuple[str, ...]]:
    """The schedule in words, and its warnings as of this hour."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    return _told(spec.schedule, spec.timezone, spec.gap, spec.repeat, hour)


@lru_cache(maxsize=4096)
def _told(
    text: str, zone: str, gap: Gap, repeat: Repeat, hour: datetime
) -> tuple[str | None, tuple[str, ...]]:
    try:
        schedule: Schedule = parse(text, zone, gap=gap, repeat=repeat)
    except InvalidSchedule as error:
        # Stored by another version, or its zone is gone from the IANA database: show the job still.
        return None, (str(error),)
    return schedule.in_words(), tuple(schedule.warnings(hour))


def _choice(kind: type[_E], value: object, default: _E) -> _E:
    if value is None:
        return default
    return kind(value) if value in [each.value for each in kind] else default
