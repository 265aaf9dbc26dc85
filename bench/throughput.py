"""No-op runs a second, end to end, with all history kept: Duly on each engine, and the peers.

    python -m bench.throughput [sqlite] [postgres] [peers]

A full queue of runs, each of a job of its own, is worked off by one worker: claimed, its job read,
executed (nothing), its end stored. Time runs from the worker's start until the last end is stored.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from datetime import timedelta

import asyncpg

from bench import engines
from bench.engines import Engine
from bench.harness import Figure, show, stopwatch
from bench.peers import run as peers_run
from bench.work import NoOp, worker_of
from duly.clock import SystemClock, micros
from duly.executor import Execution, Executor, Order, Result
from duly.job import Command, JobSpec
from duly.run import PlannedSlot, Status
from duly.services.loop import Stop
from duly.store import NewJob, RunFilter
from duly.telemetry import Telemetry, logger
from tests.postgres import Server

RUNS = 200_000
SLOTS = 1000
_BATCH = 5000


class Counting:
    """Counts what has ended, so that nobody has to ask the database meanwhile."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.ended = 0

    def start(self, order: Order, on_end: Callable[[Result], None]) -> Execution | None:
        self.ended += 1
        return self._executor.start(order, on_end)


async def measure(engine: Engine, amount: int = RUNS) -> Figure:
    clock = SystemClock()
    jobs, runs, heartbeats = engine.jobs(), engine.runs(), engine.runs()
    due = clock.now()
    spec = JobSpec(schedule="daily 02:00", command=Command(exec=("/bin/true",)))
    for _ in range(0, amount, _BATCH):
        new = NewJob("bench", spec, timedelta(0), due + timedelta(days=1))
        added = await jobs.add_many([new] * _BATCH)
        ids = [each.job.id for each in added]
        slot = PlannedSlot(micros(due), "default", 5, True, 1, ids, [0] * len(ids))
        await runs.save_slots([slot])
    if engine.url is not None:
        await _vacuum(engine.url)
    executor = Counting(NoOp(clock))
    worker = worker_of(jobs, runs, heartbeats, executor, Telemetry(logger("bench")), slots=SLOTS)
    stop = Stop()
    with stopwatch() as watch:
        working = asyncio.create_task(worker.run(stop))
        while executor.ended < amount:  # noqa: ASYNC110 - seen from outside
            await asyncio.sleep(0.02)
        while await heartbeats.held("bench"):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    stop.ask()
    await working
    done = await runs.history(RunFilter(status=Status.SUCCEEDED), limit=amount + 1)
    assert len(done) == amount
    for store in (jobs, runs, heartbeats):
        await store.close()
    return Figure(f"no-op runs, {engine.name}, history kept", amount / watch.seconds, "/s")


async def _vacuum(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()


async def main(what: list[str]) -> list[Figure]:
    figures = []
    if "sqlite" in what:
        async with engines.sqlite() as engine:
            figures.append(await measure(engine))
            figures[-1].reach = ">= 20,000/s"
    server = Server("16", settings=engines.SETTINGS)
    try:
        url = (await asyncio.to_thread(server.start)).url()
        if "postgres" in what:
            async with engines.postgres(url) as engine:
                figures.append(await measure(engine))
        if "peers" in what:
            others = peers_run.figures(await peers_run.measure(url))
            if "postgres" in what:
                _compare(figures[-1], others)
            figures += others
    finally:
        await asyncio.to_thread(server.remove)
    return figures


def _compare(duly: Figure, others: list[Figure]) -> None:
    ratios = [f"{duly.value / each.value:.2f} x {each.what.split()[0]}" for each in others]
    duly.note = ", ".join(ratios)
    duly.reach = ">= 1.3 x graphile-worker, >= 2.5 x pgqueuer"


if __name__ == "__main__":
    show("Throughput", asyncio.run(main(sys.argv[1:] or ["sqlite", "postgres", "peers"])))
