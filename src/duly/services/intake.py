"""The intake: takes due runs in a worker's name, one claim after the other, and misses none.

While runs are being started, the next claim is on its way already, as far as there are slots. A
claim whose answer is lost may have been carried out: what it gave is asked for afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from duly.clock import AnchoredClock
from duly.errors import StoreUnavailable
from duly.flow.claim import Taken, take
from duly.run import ClaimedRun
from duly.store import RunStore, WorkerInfo
from duly.telemetry import Telemetry

# Runs of one claim: enough that its cost is shared, few enough that the first starts soon.
_BATCH = 500
# For so long after a claim whose answer did not come, the database may still carry it out.
_UNHEARD_S = 60.0


class Intake:
    """One worker's claims.

    Args:
        clock: is kept at the runs database's time.
    """

    def __init__(
        self, runs: RunStore, clock: AnchoredClock, telemetry: Telemetry, info: WorkerInfo
    ) -> None:
        self._runs = runs
        self._clock = clock
        self._telemetry = telemetry
        self._info = info
        self._mine: set[int] = set()  # the tokens of all that was taken and is not settled
        self._unheard_until = 0.0
        self._ahead: asyncio.Task[Taken] | None = None
        self._ahead_room = 0

    async def take(self, room: int) -> Taken:
        """Take up to `room` due runs. Raises StoreUnavailable."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            return await ahead
        unheard = await self._unheard()
        if unheard:
            return Taken(unheard, None, self._clock.now(), more=True)
        return await self._take(room)

    def take_ahead(self, room: int) -> None:
        """Begin the claim whose runs the next `take` will bring."""
        if self._ahead is None and room > 0:
            self._ahead_room = min(room, _BATCH)
            self._ahead = asyncio.create_task(self._take(room))

    @property
    def reserved(self) -> int:
        """Slots that a claim on its way may need."""
        return 0 if self._ahead is None else self._ahead_room

    def settled(self, tokens: Iterable[int]) -> None:
        """These are not the worker's any more."""
        self._mine.difference_update(tokens)

    async def end(self) -> list[ClaimedRun]:
        """Nothing more is on its way after this; what the last claim brought."""
        ahead, self._ahead = self._ahead, None
        if ahead is None:
            return []
        try:
            return (await ahead).runs
        except StoreUnavailable:
            return []  # if it took any, they are lost with the worker, and handed on

    async def _take(self, room: int) -> Taken:
        room = min(room, _BATCH)
        before, self._unheard_until = self._unheard_until, self._clock.monotonic() + _UNHEARD_S
        taken = await take(self._runs, worker=self._info.id, queues=self._info.queues, limit=room)
        self._unheard_until = before
        self._telemetry.emit(taken.events)
        self._clock.anchor(taken.now)
        self._mine |= {run.token for run in taken.runs}
        return taken

    async def _unheard(self) -> list[ClaimedRun]:
        """After a claim that failed: what the database gave us all the same.

        Claims come one after the other, so a run in our name that was not ours before the question
        is one.
        """
        if self._clock.monotonic() >= self._unheard_until:
            return []
        before = frozenset(self._mine)
        held = await self._runs.held(self._info.id)
        unheard = [run for run in held if run.token not in before]
        self._mine |= {run.token for run in unheard}
        return unheard
