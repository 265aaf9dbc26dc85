"""The worker: takes due runs, has them executed, stores how they ended. It never reads a schedule.

    claim ──► execute ──► (command ends) ──► finish
      ▲                                        │
      └───────────── a slot is free ◄──────────┘

Three loops share nothing that a command could hold up: claiming, finishing (results that come while
one batch is being stored make up the next), and the heartbeat, which has a database connection of
its own. Between runs the worker sleeps until exactly the next one is due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from duly.clock import AnchoredClock, instant
from duly.events import RunStarted
from duly.executor import Execution, Executor, Order, Result
from duly.flow.claim import KnownTasks, assign
from duly.flow.finish import Ended, finish
from duly.job import Retry
from duly.run import ClaimedRun, Outcome
from duly.services.intake import Intake
from duly.services.loop import Bell, Stop, repeat
from duly.store import JobStore, RunStore, WorkerInfo
from duly.telemetry import Telemetry

# How soon a run that nobody planned ahead (a person's trigger) is noticed.
_POLL_S = 0.1
# What is due and was not claimed is in the hands of another claim; asking at once would be in vain.
_SHORTEST_S = 0.002
# Results that may wait to be stored, as a multiple of the slots.
_UNSAVED_FREE = 2
_KILL_GRACE_S = 5.0
# Commands are killed this long before the lease ends, so that two copies never overlap.
_LEASE_MARGIN = 0.25


class Worker:
    """One worker process.

    Args:
        info: how it reports itself.
        clock: shared with the executor; the worker keeps it at the runs database's time.
        heartbeats: a run store of its own connection, for the lease alone.
        replaces: ids of workers known to be dead, whose runs the next sweep hands on.
    """

    def __init__(
        self,
        jobs: JobStore,
        runs: RunStore,
        heartbeats: RunStore,
        executor: Executor,
        clock: AnchoredClock,
        telemetry: Telemetry,
        *,
        info: WorkerInfo,
        beat_s: float,
        lease_s: float,
        grace_s: float,
        replaces: Sequence[str] = (),
    ) -> None:
        self._jobs = jobs
        self._runs = runs
        self._heartbeats = heartbeats
        self._executor = executor
        self._clock = clock
        self._telemetry = telemetry
        self._info = info
        self._beat_s = beat_s
        self._lease_s = lease_s
        self._grace_s = grace_s
        self._replaces = replaces
        self._known = KnownTasks()
        self._taken: list[ClaimedRun] = []
        self._intake = Intake(runs, clock, telemetry, info)
        self._executing: dict[int, Execution] = {}
        self._ended: list[Ended] = []
        self._unsaved = 0
        self._free = Bell()
        self._results = Bell()
        self._lease_until = 0.0
        self._abandon: asyncio.TimerHandle | None = None

    async def run(self, stop: Stop) -> None:
        """Work until the stop, then drain: let commands finish, hand back what is left."""
        for dead in self._replaces:
            await self._heartbeats.end_worker(dead)
        await self._beat()
        finished = Stop()
        async with asyncio.TaskGroup() as tasks:
            quietly = partial(repeat, telemetry=self._telemetry)
            tasks.create_task(quietly("beat", self._beat, stop=finished))
            tasks.create_task(quietly("finish", self._finish, stop=finished, bell=self._results))
            await quietly("claim", self._claim, stop=stop, bell=self._free)
            await self._drain(stop)
            finished.ask()
        if self._abandon is not None:
            self._abandon.cancel()
        await self._heartbeats.end_worker(self._info.id)

    async def _claim(self) -> float:
        if self._clock.monotonic() >= self._lease_until:
            await self._hand_back_unstarted("could not renew its lease")
            return _POLL_S
        next_due: datetime | None = None
        more = False
        if not self._taken:
            if self._room() < 1:
                return _POLL_S
            taken = await self._intake.take(self._room())
            self._taken, next_due, more = taken.runs, taken.next_due, taken.more
        if more:
            self._intake.take_ahead(self._room())
        orders = []
        if self._taken:
            # If the jobs database fails now, these runs are still ours, and next time comes first.
            orders = await assign(self._jobs, self._runs, self._known, self._taken)
            if self._clock.monotonic() >= self._lease_until:
                return 0  # too late to start them: others may have been given them
            void = {run.token for run in self._taken} - {each.run.token for each in orders}
            self._intake.settled(void)
            self._taken = []
        # All that is due is started before anything that has ended is looked at: a rush is late by
        # its starts alone.
        for order in orders:
            self._start(order)
        return 0 if more else self._until(next_due)

    def _room(self) -> int:
        """Slots that are free.

        What has ended takes none while it is being stored, or nothing would start meanwhile; where
        it cannot be stored, no more comes than memory holds.
        """
        waiting = max(0, self._unsaved - _UNSAVED_FREE * self._info.concurrency)
        used = len(self._executing) + len(self._taken) + self._intake.reserved + waiting
        return self._info.concurrency - used

    def _until(self, due: datetime | None) -> float:
        if due is None:
            return _POLL_S
        wait_s = (due - self._clock.now()).total_seconds()
        return min(_POLL_S, max(_SHORTEST_S, wait_s))

    def _start(self, order: Order) -> None:
        run = order.run
        execution = self._executor.start(order, partial(self._on_end, order))
        if execution is None:
            return
        self._executing[run.token] = execution
        if self._telemetry.verbose:
            lateness = self._clock.now() - instant(run.due_us)
            started = RunStarted(run.key, run.attempt, run.token, execution.pid, lateness)
            self._telemetry.emit((started,))

    def _on_end(self, order: Order, result: Result) -> None:
        run = order.run
        self._executing.pop(run.token, None)
        self._ended.append(Ended(run, order.task.retry, result))
        self._unsaved += 1
        self._results.ring()

    async def _finish(self) -> float:
        """Store all results there are; one that cannot be stored now is kept for the next try."""
        while self._ended:
            batch, self._ended = self._ended, []
            try:
                events = await finish(self._runs, batch, tell_all=self._telemetry.verbose)
            except BaseException:
                self._ended = batch + self._ended
                raise
            self._unsaved -= len(batch)
            self._intake.settled(each.run.token for each in batch)
            self._free.ring()
            self._telemetry.emit(events)
        return self._beat_s

    async def _beat(self) -> float:
        """Renew the lease. It holds from when the renewal was sent, not from when it arrived."""
        sent = self._clock.monotonic()
        await self._heartbeats.beat(self._info)
        self._lease_until = sent + self._lease_s * (1 - _LEASE_MARGIN)
        if self._abandon is not None:
            self._abandon.cancel()
        left = self._lease_until - self._clock.monotonic()
        self._abandon = asyncio.get_running_loop().call_later(left, self._lose_all)
        return self._beat_s

    def _lose_all(self) -> None:
        """The lease is about to end: others may start these runs, so nothing here may go on."""
        self._telemetry.trouble("lease_ending", commands_killed=len(self._executing))
        for execution in self._executing.values():
            execution.stop(Outcome.LOST, "its worker could not renew its lease", grace_s=0)

    async def _hand_back_unstarted(self, why: str) -> None:
        """Runs that were taken and not started. Where others have them by now, nothing changes."""
        self._taken += await self._intake.end()
        if not self._taken:
            return
        now_us = self._clock.now_us()
        result = Result(
            Outcome.INTERRUPTED, now_us, now_us, reason=f"its worker {why} before the start"
        )
        self._ended += (Ended(run, Retry(), result) for run in self._taken)
        self._unsaved += len(self._taken)
        self._taken = []
        self._results.ring()

    async def _drain(self, stop: Stop) -> None:
        self._telemetry.say("draining", commands=len(self._executing), grace_s=self._grace_s)
        await self._hand_back_unstarted("stopped")
        give_up_at = self._clock.monotonic() + self._grace_s
        while self._executing and not stop.at_once.is_set():
            left_s = give_up_at - self._clock.monotonic()
            if left_s <= 0:
                break
            await self._free.wait(left_s)
        for execution in list(self._executing.values()):
            execution.stop(Outcome.INTERRUPTED, "its worker was stopped", grace_s=_KILL_GRACE_S)
        while self._executing or self._unsaved:
            await self._free.wait(_POLL_S)
