"""Says what a schedule means, before it is used: in words, by its next times, and by what the next
changes of its zone do to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from duly.schedule.cron import Cron
from duly.schedule.intervals import Interval
from duly.schedule.moments import OneOff
from duly.schedule.rrules import RecurrenceRule
from duly.schedule.walls import Gap, Repeat
from duly.schedule.zones import Transition, transitions

if TYPE_CHECKING:
    from duly.schedule.schedule import Schedule

_AHEAD = timedelta(days=366)
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the zone that touches the schedule.

    Args:
        at: its first instant.
        before, after: the offsets from UTC.
        kind: "gap" or "repeat".
        effect: what becomes of the schedule, a sentence.
    """

    at: datetime
    before: timedelta
    after: timedelta
    kind: str
    effect: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that `duly schedule explain` shows."""

    words: str
    next: tuple[datetime, ...]
    changes: tuple[Change, ...]
    warnings: tuple[str, ...]


def explain(schedule: Schedule, now: datetime, count: int = 5) -> Explanation:
    """Explain a schedule as of `now` (aware): its next `count` times and a year of changes."""
    return Explanation(
        schedule.in_words(),
        next_times(schedule, now, count),
        changes(schedule, now),
        warnings(schedule, now),
    )


def next_times(schedule: Schedule, after: datetime, count: int) -> tuple[datetime, ...]:
    """The next `count` slots strictly after an instant; fewer where the schedule ends."""
    found: list[datetime] = []
    while len(found) < count and (slot := schedule.next_after(after)) is not None:
        found.append(slot)
        after = slot
    return tuple(found)


def warnings(schedule: Schedule, now: datetime) -> tuple[str, ...]:
    """What an author may not have meant. Never a refusal."""
    form = schedule.form
    own = form.warnings() if isinstance(form, Cron | Interval) else []
    fixed = not isinstance(form, Cron) or form.fixed
    return (*own, *(change.effect for change in changes(schedule, now) if fixed))


def changes(schedule: Schedule, now: datetime) -> tuple[Change, ...]:
    """The changes of the zone within a year of `now` that touch the schedule."""
    form = schedule.form
    if isinstance(form, Interval) or (isinstance(form, OneOff) and form.moment.tzinfo is not None):
        return ()
    now = now.astimezone(UTC)
    found = []
    for year in range(now.year, min(now.year + 2, 10_000)):
        for change in transitions(schedule.tz, year):
            if now < change.at <= now + _AHEAD:
                effect = _effect(schedule, form, change)
                if effect is not None:
                    kind = "gap" if change.is_gap else "repeat"
                    found.append(Change(change.at, change.before, change.after, kind, effect))
    return tuple(found)


def _effect(
    schedule: Schedule, form: Cron | RecurrenceRule | OneOff, change: Transition
) -> str | None:
    # The wall times that are left out, or come twice: [low, high).
    edges = [(change.at + offset).replace(tzinfo=None) for offset in (change.before, change.after)]
    low, high = min(edges), max(edges)
    first = form.next_wall(low - _SECOND)
    if first is None or first >= high:
        return None
    day = f"{low:%Y-%m-%d}"
    span = f"from {low:%H:%M} to {high:%H:%M}"
    if isinstance(form, Cron) and not form.fixed:
        if change.is_gap:
            return f"on {day} the times {span} do not exist: nothing runs in between"
        return f"on {day} the times {span} come twice: it runs in both passes"
    times = _times(form, first, high)
    if change.is_gap:
        verb = "do" if "," in times else "does"
        if schedule.gap is Gap.SKIP:
            return f"on {day} {times} {verb} not exist: that run is left out"
        return f"on {day} {times} {verb} not exist: it runs once, at {high:%H:%M}"
    which = {
        Repeat.FIRST: "the first time",
        Repeat.SECOND: "the second time",
        Repeat.BOTH: "both times",
    }[schedule.repeat]
    return f"on {day} {times} {'come' if ',' in times else 'comes'} twice: it runs {which}"


def _times(form: Cron | RecurrenceRule | OneOff, first: datetime, high: datetime) -> str:
    told = [f"{first:%H:%M}"]
    wall = form.next_wall(first)
    while wall is not None and wall < high and len(told) < 3:
        told.append(f"{wall:%H:%M}")
        wall = form.next_wall(wall)
    more = ", …" if wall is not None and wall < high else ""
    return ", ".join(told) + more
