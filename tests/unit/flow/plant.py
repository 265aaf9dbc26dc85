"""Real stores on a clock that stands still, and the verbs that a test needs, in one hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from duly.clock import ManualClock
from duly.executor import Order, Result
from duly.flow.claim import KnownTasks, assign, take
from duly.flow.finish import Ended, finish
from duly.flow.plan import plan
from duly.flow.register import register
from duly.job import Command, Job, JobSpec
from duly.run import Outcome, Run, RunKey, Status
from duly.store import JobStore, RunFilter, RunStore

START = datetime(2026, 10, 24, 1, 59, 59, tzinfo=UTC)


def at(hour: int, minute: int, second: int = 0, *, day: int = 24) -> datetime:
    return datetime(2026, 10, day, hour, minute, second, tzinfo=UTC)


@dataclass(slots=True)
class Plant:
    """A scheduler and a worker, moved by hand."""

    jobs: JobStore
    runs: RunStore
    clock: ManualClock
    term: int = 0
    known: KnownTasks = field(default_factory=KnownTasks)
    horizon: timedelta = timedelta(0)

    async def register(self, schedule: str, **spec: Any) -> Job:
        given = JobSpec(schedule=schedule, command=Command(name="x"), **spec)
        return (await register(self.jobs, "ops", given, now=self.clock.now())).job

    async def tick(self, now: datetime) -> None:
        """Plan at `now` until nothing is left within the horizon."""
        self.clock.set(now)
        while True:
            done = await plan(
                self.jobs, self.runs, term=self.term, now=now, horizon=self.horizon, batch=100
            )
            if not done.read:
                return

    async def work(self, now: datetime | None = None) -> list[Order]:
        """Claim what is due."""
        if now is not None:
            self.clock.set(now)
        taken = await take(self.runs, worker="w", queues=["default"], limit=100)
        return await assign(self.jobs, self.runs, self.known, taken.runs)

    async def end(self, order: Order, outcome: Outcome = Outcome.SUCCEEDED) -> None:
        """End a try now."""
        at_us = self.clock.now_us()
        result = Result(outcome, at_us, at_us, reason=None if outcome is Outcome.SUCCEEDED else "x")
        await finish(self.runs, [Ended(order.run, order.task.retry, result)])

    async def job(self, job: Job) -> Job:
        found = await self.jobs.get(job.id)
        assert found is not None
        return found

    async def run(self, job: Job, slot: datetime) -> Run:
        found = await self.runs.get(RunKey(job.id, slot))
        assert found is not None, f"no row for {slot}"
        return found

    async def history(self) -> list[Run]:
        """All rows, oldest first."""
        return list(reversed(await self.runs.history(RunFilter(), limit=10_000)))

    async def told(self) -> list[tuple[datetime, Status, int]]:
        """Slot, status and number of slots of each row, oldest first."""
        return [(run.key.scheduled_for, run.status, run.slots) for run in await self.history()]


def slots(orders: Sequence[Order]) -> list[datetime]:
    return [each.run.scheduled_for for each in orders]
