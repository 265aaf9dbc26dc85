"""The scheduler: while it leads, it plans what falls due within the horizon, and sweeps.

It never runs a command, so nothing a command does can hold it up.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from duly.archive import Archive
from duly.flow.archive import archive_day
from duly.flow.plan import plan
from duly.flow.rescue import rescue
from duly.lease import Lease
from duly.services.loop import Stop, repeat
from duly.store import JobStore, RunStore
from duly.telemetry import Telemetry

# A tick every quarter of a second, an eighth off the full second: most runs are due at a full
# second, and a planner that writes at that very moment would make them wait for its lock.
_TICK_S = 0.25
_PHASE_S = 0.125
_SWEEP_S = 2.0
_ANSWERS_KEPT = timedelta(days=1)
_TIDY_S = 600.0
_BETWEEN_DAYS_S = 1.0
_ROOM = timedelta(days=2)


class Scheduler:
    """One scheduler process.

    Args:
        name: who leads, for the terms table.
        horizon: how far ahead of their due time runs are saved.
        batch: jobs planned in one transaction.
        lease_s: how long a worker may be silent.
        keep: history younger than this is not archived.
    """

    def __init__(
        self,
        jobs: JobStore,
        runs: RunStore,
        lease: Lease,
        archive: Archive | None,
        telemetry: Telemetry,
        *,
        name: str,
        horizon: timedelta,
        batch: int,
        lease_s: float,
        keep: timedelta,
    ) -> None:
        self._jobs = jobs
        self._runs = runs
        self._lease = lease
        self._archive = archive
        self._telemetry = telemetry
        self._name = name
        self._horizon = horizon
        self._batch = batch
        self._silent_for = timedelta(seconds=lease_s)
        self._keep = keep
        self._term: int | None = None
        self._standby_told = False

    async def run(self, stop: Stop) -> None:
        """Lead, or wait to lead, until the stop."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for name, step in (
                    ("plan", self._plan),
                    ("sweep", self._sweep),
                    ("tidy", self._tidy),
                ):
                    tasks.create_task(repeat(name, step, stop=stop, telemetry=self._telemetry))
        finally:
            await self._lease.release()

    async def _plan(self) -> float:
        if not await self._lead():
            return _TICK_S
        assert self._term is not None
        now = await self._jobs.now()
        done = await plan(
            self._jobs,
            self._runs,
            term=self._term,
            now=now,
            horizon=self._horizon,
            batch=self._batch,
        )
        self._telemetry.emit(done.events)
        if done.read and not done.moved and await self._jobs.current_term() != self._term:
            # A leader that planned on would only be refused. Start over, with a new term.
            self._telemetry.trouble("term_over", term=self._term)
            self._term = None
            await self._lease.release()
        if done.read == self._batch:
            return 0
        return _until_next_tick(await self._jobs.now())

    async def _lead(self) -> bool:
        """Take the lease or keep it; each leadership has a term of its own."""
        if not await self._lease.acquire():
            if self._term is not None or not self._standby_told:
                self._telemetry.say("standing_by", why="another scheduler leads", was=self._term)
            self._term, self._standby_told = None, True
            return False
        if self._term is not None:
            return True
        self._term = await self._jobs.take_over(self._name)
        self._standby_told = False
        self._telemetry.say("leading", term=self._term)
        return True

    async def _sweep(self) -> float:
        if self._term is not None:
            events = await rescue(self._jobs, self._runs, silent_for=self._silent_for)
            self._telemetry.emit(events)
            await self._jobs.forget_answers(await self._jobs.now() - _ANSWERS_KEPT)
        return _SWEEP_S

    async def _tidy(self) -> float:
        """Keep history in order: room for what comes, old days into the archive."""
        if self._term is None:
            return _SWEEP_S
        now = await self._runs.now()
        await self._runs.make_room(now + _ROOM)
        if self._archive is None:
            return _TIDY_S
        events = await archive_day(self._runs, self._archive, before=now - self._keep)
        self._telemetry.emit(events)
        return _BETWEEN_DAYS_S if events else _TIDY_S


def _until_next_tick(now: datetime) -> float:
    return _TICK_S - (now.microsecond / 1e6 - _PHASE_S) % _TICK_S
