"""Which lanes of the queue a claim looks into. A lane is one priority of one named queue.

The index orders runs by lane and due time, so each lane costs a descent of its own. Most queues use
one of their ten: a reader knows the lanes in which it has seen runs, with a floor for each, and
looks at what lies between them as a whole, where one descent tells that nothing is there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from duly.backends.postgres.floor import Floor
from duly.clock import Clock

PRIORITIES = range(10)
_USUAL = 5
# How long a look holds: so late a run may be seen that comes into a lane that was not known.
_SURE_S = 0.2

_Lane = tuple[str, int]


class Look(NamedTuple):
    """When the first run that waits falls due, and the present."""

    next_due_us: int | None
    now_us: int


class Lanes:
    """The lanes that one reader knows.

    Args:
        clock: its monotonic part says when looks are due; None: always.
    """

    def __init__(self, clock: Clock | None) -> None:
        self._clock = clock
        self._floors: defaultdict[_Lane, Floor] = defaultdict(lambda: Floor(clock))
        self._sure_until = 0.0
        self._due_at: float | None = None

    def sure(self) -> bool:
        """Whether something should be due in a lane that is known; else a look comes first."""
        if self._clock is None or self._due_at is None:
            return False
        return self._due_at <= self._clock.monotonic() < self._sure_until

    def known(self, queues: Sequence[str]) -> dict[str, list[Any]]:
        """The values that a claim takes: lanes in the order of claims, and their floors."""
        for queue in queues:
            _ = self._floors[queue, _USUAL]  # known from the start, for most have no other
        lanes = [
            (queue, priority)
            for priority in PRIORITIES
            for queue in queues
            if (queue, priority) in self._floors
        ]
        return {
            "lane_queues": [queue for queue, _ in lanes],
            "lane_priorities": [priority for _, priority in lanes],
            "lane_floors": [self._floors[lane].begin() for lane in lanes],
        }

    def all_of(self, queues: Sequence[str]) -> dict[str, list[Any]]:
        """The values that a look takes: besides, the gaps between the known lanes."""
        gaps = [(queue, low, high) for queue in queues for low, high in self._gaps(queue)]
        return self.known(queues) | {
            "gap_queues": [queue for queue, _, _ in gaps],
            "gap_lows": [low for _, low, _ in gaps],
            "gap_highs": [high for _, _, high in gaps],
        }

    def claimed(self, rows: Iterable[Mapping[str, Any]], *, now_us: int) -> None:
        """A claim took these, the earliest of each lane first: below them nothing is left."""
        firsts: dict[_Lane, int] = {}
        for row in rows:
            firsts.setdefault((row["queue"], row["priority"]), row["due_at"])
        for lane, first in firsts.items():
            self._floors[lane].found(first, now=now_us)

    def looked(self, rows: Sequence[Mapping[str, Any]]) -> Look | None:
        """What a look brought. None: it found lanes that were not known; it has to be repeated."""
        now_us = rows[0]["now"]
        dues = []
        found = False
        for row in rows:
            if row["priority"] is None:
                continue
            floor = self._floors[row["queue"], row["priority"]]
            if row["known"]:
                floor.found(row["due_at"], now=now_us)
                dues += [] if row["due_at"] is None else [row["due_at"]]
            else:
                found = True
        if found:
            return None
        first = min(dues, default=None)
        if self._clock is not None:
            at = self._clock.monotonic()
            self._sure_until = at + _SURE_S
            self._due_at = None if first is None else at + (first - now_us) / 1e6
        return Look(first, now_us)

    def _gaps(self, queue: str) -> Iterable[tuple[int, int]]:
        low = PRIORITIES.start
        for priority in PRIORITIES:
            if (queue, priority) in self._floors:
                if low < priority:
                    yield low, priority - 1
                low = priority + 1
        if low < PRIORITIES.stop:
            yield low, PRIORITIES.stop - 1
