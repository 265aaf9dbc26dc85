"""From wall time to instants: the one place that knows what a change of the zone does.

A *wall rule* gives the next wall time (naive, to the second) strictly after a given one. Two kinds
of schedule turn it into instants (Debian cron(8) is the source):

- *fixed*: each wall time is one slot. In a gap it moves to the first instant after the gap; where
  it comes twice, the first counts, or as the job chooses.
- *wild*: every instant whose wall time matches: nothing in a gap, both passes of a repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from duly.schedule.zones import first_transition, offset_at

WallRule = Callable[[datetime], datetime | None]

_MICROSECOND = timedelta(microseconds=1)


class Gap(StrEnum):
    """What becomes of a fixed wall time that does not exist on a day."""

    AFTER = "after"  # it runs at the first instant after the gap
    SKIP = "skip"  # it is left out


class Repeat(StrEnum):
    """Which of the two counts where a fixed wall time comes twice."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


def next_wild(rule: WallRule, zone: ZoneInfo, after: datetime) -> datetime | None:
    """The first instant after `after` whose wall time the rule names."""
    start = after
    local = _wall(start, zone)
    while True:
        wall = rule(local)
        if wall is None:
            return None
        offset = offset_at(zone, start)
        slot = (wall - offset).replace(tzinfo=UTC)
        change = first_transition(zone, start, slot)
        if change is None:
            return slot
        # Another offset holds from here on. Its first instant may match itself.
        start = change.at
        local = _wall(start, zone) - _MICROSECOND


def next_fixed(
    rule: WallRule, zone: ZoneInfo, after: datetime, *, gap: Gap, repeat: Repeat
) -> datetime | None:
    """The first slot after `after`.

    With `Repeat.FIRST` slots come in the order of their wall times. Otherwise the second pass of a
    repeat brings earlier wall times after later ones; then the best slot found so far stands when
    no later wall time can come before it.
    """
    wall: datetime | None = _wall(after, zone)
    assert wall is not None
    if repeat is not Repeat.FIRST:
        wall -= _repeat_ahead(wall, zone, after)
    best: datetime | None = None
    while (wall := rule(wall)) is not None:
        earliest, slots = resolve(wall, zone, gap=gap, repeat=repeat)
        if best is not None and earliest >= best:
            break
        later = [slot for slot in slots if slot > after]
        best = min([*later, best] if best is not None else later, default=None)
        if best is not None and repeat is Repeat.FIRST:
            break
    return best


def resolve(
    wall: datetime, zone: ZoneInfo, *, gap: Gap, repeat: Repeat
) -> tuple[datetime, tuple[datetime, ...]]:
    """The earliest instant that this wall time or any later one can mean, and its slots."""
    before = _offset(wall, zone, fold=0)
    after = _offset(wall, zone, fold=1)
    first = (wall - before).replace(tzinfo=UTC)
    if before == after:
        return first, (first,)
    second = (wall - after).replace(tzinfo=UTC)
    if before > after:
        chosen = {
            Repeat.FIRST: (first,),
            Repeat.SECOND: (second,),
            Repeat.BOTH: (first, second),
        }
        return first, chosen[repeat]
    # In a gap: with the offset after it the wall time lies before the change, with the offset
    # before it at or after the change.
    change = first_transition(zone, second, first)
    assert change is not None
    return change.at, (change.at,) if gap is Gap.AFTER else ()


def _wall(instant: datetime, zone: ZoneInfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def _offset(wall: datetime, zone: ZoneInfo, *, fold: int) -> timedelta:
    offset = wall.replace(tzinfo=zone, fold=fold).utcoffset()
    assert offset is not None
    return offset


def _repeat_ahead(wall: datetime, zone: ZoneInfo, instant: datetime) -> timedelta:
    """How far wall time will be set back, where `instant` lies in the first pass of a repeat."""
    length = _offset(wall, zone, fold=0) - _offset(wall, zone, fold=1)
    in_first_pass = (wall - _offset(wall, zone, fold=0)).replace(tzinfo=UTC) == instant
    return length if length > timedelta(0) and in_first_pass else timedelta(0)
