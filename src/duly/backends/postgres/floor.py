"""Where the live part of an ordered index begins.

Rows that were moved on or taken leave dead entries behind, at the front of the index that the next
read begins with. A vacuum removes them, unless a long transaction elsewhere holds it up; then a
read from the very front walks over an hour of them, ten times a second. So each read starts where
the last one found the first live row. Rows that come in below it (planned late, after an outage)
are found by a read from the front every few seconds, more seldom where such a read takes long.
"""

from __future__ import annotations

from duly.clock import Clock

LOWEST = -(1 << 63)
# Rows that are not late come in no further below the present than a transaction lasts.
_MARGIN_US = 3_000_000
_EVERY_S = 5.0
_MOST_OF_TIME = 0.02


class Floor:
    """The floor of one reader.

    Args:
        clock: its monotonic part says when to look from the front again; None: always.
    """

    def __init__(self, clock: Clock | None) -> None:
        self._clock = clock
        self._floor = LOWEST
        self._front_again_at = 0.0
        self._began_at: float | None = None

    def begin(self) -> int:
        """The value to read from."""
        if self._clock is None:
            return LOWEST
        at = self._clock.monotonic()
        self._began_at = at if at >= self._front_again_at else None
        return self._floor if self._began_at is None else LOWEST

    def found(self, first: int | None, *, now: int) -> None:
        """The first live value that the read met, None where there was none, and the present."""
        highest = now - _MARGIN_US
        first = highest if first is None else min(first, highest)
        if self._clock is None:
            return
        if self._began_at is None:
            self._floor = max(self._floor, first)
            return
        took_s = self._clock.monotonic() - self._began_at
        self._front_again_at = self._began_at + max(_EVERY_S, took_s / _MOST_OF_TIME)
        self._floor = first
