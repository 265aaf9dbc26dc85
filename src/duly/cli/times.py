"""Instants as people and programs read them. Pure: the present is handed in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo

from duly.cli.exits import InvalidInput


def stamp(moment: datetime) -> str:
    """UTC as the API writes it: `2026-10-24T02:00:00Z`, a fraction only where there is one."""
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat()
    return f"{text.rstrip('0') if '.' in text else text}Z"


def read_stamp(text: str) -> datetime:
    """An instant as the API wrote it."""
    return datetime.fromisoformat(text)


def display_zone(*, utc: bool) -> tzinfo | None:
    """The zone that tables show times in; None is this machine's."""
    return UTC if utc else None


def read_moment(text: str, zone: tzinfo | None, *, option: str) -> datetime:
    """ISO 8601 as typed: with its own offset, else as wall time in `zone` (None: this machine's).

    Raises:
        InvalidInput: it is no such thing, or lies outside of the years 1 to 9999 in UTC.
    """
    try:
        moment = datetime.fromisoformat(text.strip().upper())
        if moment.tzinfo is None and zone is not None:
            moment = moment.replace(tzinfo=zone)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{option} {text!r} is no instant; write it like 2026-10-24T02:00:00Z, "
            "2026-10-24T02:00+02:00 or 2026-10-24T02:00"
        ) from error


def local(moment: datetime, zone: tzinfo | None) -> str:
    """Wall time for a table; `zone` None is this machine's.

    >>> local(datetime(2026, 10, 24, 2, tzinfo=UTC), UTC)
    '2026-10-24 02:00:00 UTC'
    """
    there = moment.astimezone(zone)
    return f"{there:%Y-%m-%d %H:%M:%S} {there.tzname()}"


def offset(length: timedelta) -> str:
    """An offset from UTC as ISO 8601 writes it.

    >>> offset(timedelta(hours=-3, minutes=-30))
    '-03:30'
    """
    return datetime(2000, 1, 1, tzinfo=timezone(length)).isoformat()[19:]


def relative(moment: datetime, now: datetime) -> str:
    """How far off, in the unit that fits.

    >>> relative(datetime(2026, 10, 24, 2, tzinfo=UTC), datetime(2026, 10, 24, 1, tzinfo=UTC))
    'in 60 min'
    """
    away = moment - now
    length = lasting(abs(away))
    if length == "0 s":
        return "now"
    return f"in {length}" if away > timedelta(0) else f"{length} ago"


def lasting(length: timedelta) -> str:
    """A length in one unit, as exact as it is worth."""
    seconds = length.total_seconds()
    for unit, size, limit in (("s", 1, 100), ("min", 60, 100), ("h", 3600, 48)):
        if seconds / size < limit:
            return f"{int(seconds / size)} {unit}"
    return f"{int(seconds / 86400)} d"


def next_run(moment: datetime | None, now: datetime, zone: tzinfo | None) -> str:
    """When a job runs next; one that should have run by now is overdue, not "ago"."""
    if moment is None:
        return "none"
    # A run is saved seconds before it is due and starts within one: less is no delay.
    if moment < now - timedelta(seconds=5):
        return f"{local(moment, zone)} (overdue by {lasting(now - moment)})"
    return f"{local(moment, zone)} ({relative(max(moment, now), now)})"
