"""Working off a full queue on SQLite: no-op runs, and `/bin/true` with output and history.

The bare figure beside `/bin/true` is how many processes this machine starts and reaps in a row.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from bench.harness import Figure, folder, show, stopwatch
from duly.backends.process import ProcessExecutor
from duly.backends.sqlite import SqliteJobStore, SqliteRunStore
from duly.clock import AnchoredClock, Clock, SystemClock, micros
from duly.executor import Executor, NamedCommands, Order, Result
from duly.job import Command, JobSpec
from duly.run import Outcome, PlannedRun, Status
from duly.services.loop import Stop
from duly.services.worker import Worker
from duly.store import JobStore, NewJob, RunFilter, RunStore, WorkerInfo
from duly.telemetry import Telemetry, logger

NO_OPS = 50_000
COMMANDS = 5_000
BARE = 1_000


class NoOp:
    """An executor whose commands do nothing, to measure everything around them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def start(self, _order: Order, on_end: Callable[[Result], None]) -> None:
        at = self._clock.now()
        on_end(Result(Outcome.SUCCEEDED, at, at, exit_code=0))


async def measure() -> list[Figure]:
    clock = SystemClock()
    processes = ProcessExecutor(lambda: NamedCommands({}, ""), clock)
    with folder() as place:
        no_op = await _work_off(place, NoOp(clock), NO_OPS)
    with folder() as place:
        true = await _work_off(place, processes, COMMANDS)
    bare = await asyncio.to_thread(_bare)
    return [
        Figure("no-op runs, end to end, history kept", no_op, "/s"),
        Figure("/bin/true runs, output and history kept", true, "/s", bare, reach=">= 700/s"),
    ]


async def _work_off(place: Path, executor: Executor, amount: int) -> float:
    clock = SystemClock()
    jobs = SqliteJobStore(place / "jobs.db", clock)
    runs, heartbeats = (SqliteRunStore(place / "runs.db", clock) for _ in range(2))
    due = clock.now()
    spec = JobSpec(schedule="daily 02:00", command=Command(exec=("/bin/true",)))
    added = await jobs.add_many(
        [NewJob("bench", spec, timedelta(0), due + timedelta(days=1)) for _ in range(amount)]
    )
    due_us = micros(due)
    await runs.save(
        [PlannedRun(each.job.id, due_us, due_us, "default", 5, True, 1) for each in added]
    )
    worker = worker_of(jobs, runs, heartbeats, executor, Telemetry(logger("bench")))
    stop = Stop()
    with stopwatch() as watch:
        working = asyncio.create_task(worker.run(stop))
        while await _open(heartbeats, due):  # noqa: ASYNC110 - seen from outside
            await asyncio.sleep(0.02)
    stop.ask()
    await working
    done = await runs.history(RunFilter(status=Status.SUCCEEDED), limit=amount + 1)
    assert len(done) == amount
    for store in (jobs, runs, heartbeats):
        await store.close()
    return amount / watch.seconds


def no_op_worker(
    jobs: JobStore, runs: RunStore, heartbeats: RunStore, telemetry: Telemetry
) -> Worker:
    """A worker whose commands do nothing."""
    return worker_of(jobs, runs, heartbeats, NoOp(SystemClock()), telemetry)


def worker_of(
    jobs: JobStore,
    runs: RunStore,
    heartbeats: RunStore,
    executor: Executor,
    telemetry: Telemetry,
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
        telemetry,
        info=WorkerInfo("bench", "host", 1, ("default",), slots, clock.now(), clock.now()),
        beat_s=30,
        lease_s=120,
        grace_s=5,
    )


async def _open(runs: SqliteRunStore, now: datetime) -> int:
    backlog = await runs.backlog(now=now)
    return backlog.counts[Status.QUEUED] + backlog.counts[Status.RUNNING]


def _bare() -> float:
    with stopwatch() as watch:
        for _ in range(BARE):
            subprocess.run(  # the bare start, pipe included
                ["/bin/true"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True
            )
    return BARE / watch.seconds


if __name__ == "__main__":
    show("Work, SQLite", asyncio.run(measure()))
