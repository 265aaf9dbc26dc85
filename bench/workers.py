"""Workers for benchmarks: with commands that do nothing or with real ones, on any engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import asyncpg

from bench.engines import Engine
from bench.harness import stopwatch
from duly.clock import AnchoredClock, Clock, SystemClock, micros
from duly.executor import Execution, Executor, Order, Result
from duly.job import Command, JobSpec
from duly.run import Outcome, PlannedSlot, Status
from duly.services.loop import Stop
from duly.services.worker import Worker
from duly.store import JobStore, NewJob, RunFilter, RunStore, WorkerInfo
from duly.telemetry import Telemetry, logger

NAME = "bench"
_BATCH = 5000


class NoOp:
    """An executor whose commands do nothing, to measure everything around them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def start(self, _order: Order, on_end: Callable[[Result], None]) -> None:
        at_us = self._clock.now_us()
        on_end(Result(Outcome.SUCCEEDED, at_us, at_us, exit_code=0))


class _Counting:
    """Counts what was started, so that nobody has to ask the database meanwhile."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.started = 0

    def start(self, order: Order, on_end: Callable[[Result], None]) -> Execution | None:
        self.started += 1
        return self._executor.start(order, on_end)


def worker_of(
    jobs: JobStore,
    runs: RunStore,
    heartbeats: RunStore,
    executor: Executor,
    *,
    slots: int = 256,
    clock: AnchoredClock | None = None,
) -> Worker:
    """A worker with this executor, which may share the worker's clock."""
    clock = clock or AnchoredClock()
    return Worker(
        jobs,
        runs,
        heartbeats,
        executor,
        clock,
        Telemetry(logger(NAME)),
        info=WorkerInfo(NAME, "host", 1, ("default",), slots, clock.now(), clock.now()),
        beat_s=30,
        lease_s=120,
        grace_s=5,
    )


async def work_off(engine: Engine, executor: Executor, amount: int, *, slots: int = 256) -> float:
    """Runs a second, end to end, of a full queue of runs, each of a job of its own."""
    jobs, runs, heartbeats = engine.jobs(), engine.runs(), engine.runs()
    await _fill(jobs, runs, amount)
    if engine.url is not None:
        await _vacuum(engine.url)
    counting = _Counting(executor)
    worker = worker_of(jobs, runs, heartbeats, counting, slots=slots)
    stop = Stop()
    with stopwatch() as watch:
        working = asyncio.create_task(worker.run(stop))
        while counting.started < amount:  # noqa: ASYNC110 - seen from outside
            await asyncio.sleep(0.02)
        while await heartbeats.held(NAME):  # noqa: ASYNC110 - seen from outside
            await asyncio.sleep(0.02)
    stop.ask()
    await working
    done = await runs.history(RunFilter(status=Status.SUCCEEDED), limit=amount + 1)
    assert len(done) == amount
    for store in (jobs, runs, heartbeats):
        await store.close()
    return amount / watch.seconds


async def _fill(jobs: JobStore, runs: RunStore, amount: int) -> None:
    due = SystemClock().now()
    spec = JobSpec(schedule="daily 02:00", command=Command(exec=("/bin/true",)))
    new = NewJob("bench", spec, timedelta(0), due + timedelta(days=1))
    for start in range(0, amount, _BATCH):
        added = await jobs.add_many([new] * min(_BATCH, amount - start))
        ids = [each.job.id for each in added]
        await runs.save_slots(
            [PlannedSlot(micros(due), "default", 5, True, 1, ids, [0] * len(ids))]
        )


async def _vacuum(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
