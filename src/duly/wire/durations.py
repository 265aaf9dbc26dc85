"""Durations and moments as people and JSON write them: `1h30m`, `2026-10-24T02:00:00Z`.

A duration is shown in the form it is read in, so what an answer shows can be sent back.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from duly.errors import InvalidJob
from duly.wire.faults import kind_of, quoted

_MICROSECOND = timedelta(microseconds=1)
_UNITS = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
_EXAMPLE = 'write it as "30s", "10m", "1h30m", "250ms" or "2d", or as a number of seconds'
# At most 12 digits before the point and 6 after: no text can cost more than it is worth.
_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,6})?)"
_DURATION = re.compile(rf"(?: ?{_NUMBER}(ms|[dhms]))+", re.ASCII)
_PART = re.compile(rf"{_NUMBER}(ms|[dhms])", re.ASCII)
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
    r"(?:[Zz]|[+-][0-9]{2}:[0-9]{2})",
    re.ASCII,
)


def read_duration(value: object) -> timedelta:
    """A duration from its text or from a number of seconds. Raises InvalidJob.

    >>> read_duration("1h30m")
    datetime.timedelta(seconds=5400)
    >>> read_duration(0.25)
    datetime.timedelta(microseconds=250000)
    """
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidJob(f"must be a duration, not {kind_of(value)}; {_EXAMPLE}")
    # Compared, not converted: a whole number may be too large for a float, and NaN is in no range.
    if not 0 <= value <= 1e12:
        raise InvalidJob(f"must be a number of seconds from 0 up; {_EXAMPLE}")
    return timedelta(seconds=value)


def show_duration(length: timedelta) -> str:
    """The shortest text that `read_duration` reads as this length.

    >>> show_duration(timedelta(hours=1, minutes=30))
    '1h30m'
    """
    parts = []
    for unit, size in _UNITS.items():
        if unit == "ms":
            continue
        number, length = divmod(length, size)
        if number:
            parts.append(f"{number}{unit}")
    if length:
        parts.append(f"{(length / _UNITS['ms']):.3f}".rstrip("0").rstrip(".") + "ms")
    return "".join(parts) or "0s"


def read_moment(value: object) -> datetime:
    """An instant from ISO 8601 text with an offset, as UTC. Raises InvalidJob."""
    example = 'write it with its offset, as "2026-10-24T02:00:00Z" or "2026-10-24T04:00:00+02:00"'
    if not isinstance(value, str):
        raise InvalidJob(f"must be a time, not {kind_of(value)}; {example}")
    if not _MOMENT.fullmatch(value):
        hint = example
        if re.search(r" [0-9]{2}:[0-9]{2}$", value):
            hint = "a + in a URL means a blank: write it as %2B"
        raise InvalidJob(f"{quoted(value)} is no time; {hint}")
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidJob(f"{quoted(value)} is no time that exists; {example}") from error


def show_moment(moment: datetime) -> str:
    """`YYYY-MM-DDTHH:MM:SSZ`; a fraction only where there is one."""
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat()
    return f"{text.rstrip('0')}Z" if moment.microsecond else f"{text}Z"


def show_optional(moment: datetime | None) -> str | None:
    return None if moment is None else show_moment(moment)


def seconds(length: timedelta) -> float:
    """A length of time as a JSON number."""
    return length / timedelta(seconds=1)


# Few distinct lengths stand behind many jobs.
@lru_cache(maxsize=4096)
def _from_text(text: str) -> timedelta:
    if text.startswith("-"):
        raise InvalidJob(f"{quoted(text)} is negative; {_EXAMPLE}")
    if not _DURATION.fullmatch(text):
        raise InvalidJob(f"{quoted(text)} is no duration; {_EXAMPLE}")
    parts = _PART.findall(text)
    units = [unit for _, unit in parts]
    if units != [unit for unit in _UNITS if unit in units]:
        raise InvalidJob(f"{quoted(text)} has its units twice or out of order; {_EXAMPLE}")
    micros = sum(_micros(number) * (_UNITS[unit] // _MICROSECOND) for number, unit in parts)
    # `micros` counts millionths of a microsecond: whole arithmetic keeps "0.1s" exact.
    try:
        return timedelta(microseconds=round(micros / 1_000_000))
    except OverflowError as error:
        raise InvalidJob(f"{quoted(text)} is too long") from error


def _micros(number: str) -> int:
    whole, _, fraction = number.partition(".")
    return int(whole) * 1_000_000 + int(fraction.ljust(6, "0"))
