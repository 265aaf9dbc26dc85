"""How late runs start: 200 jobs every second for a minute.

Three ways. *Sharp*: a real `duly up`, all 200 due at the same instant, each a process; the last of
them waits for the starts of the 199 before it, so beside it stands how long this machine takes to
start 200 processes in a row and nothing else. *No-op*: the same without processes, scheduler and
worker alone, which is Duly's own part. *Jitter*: a real `duly up`, each job at its own moment of
the second, as a user with many frequent jobs has it. Every slot must have run once, none early.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

import httpx

from bench.harness import Figure, folder, percentile, show, stopwatch
from bench.server import running
from bench.workers import NoOp, worker_of
from duly.backends.file_lease import FileLease
from duly.backends.sqlite import SqliteJobStore, SqliteRunStore
from duly.clock import SystemClock
from duly.flow.register import register_many
from duly.job import Command, JobSpec, Overlap
from duly.services.loop import Stop
from duly.services.scheduler import Scheduler
from duly.store import RunFilter
from duly.telemetry import Telemetry, logger
from duly.wire.runs import run_document
from tests.integration.duly_up import history

JOBS = 200
SECONDS = 60


async def measure() -> list[Figure]:
    sharp = await asyncio.to_thread(_measure, "0s")
    bare = await asyncio.to_thread(_bare)
    no_op = await _measure_no_op()
    spread = await asyncio.to_thread(_measure, "1s")
    figures = []
    for name, (lateness, faults), beside in (
        ("sharp", sharp, bare),
        ("sharp, no-op", no_op, None),
        ("jitter 1s", spread, None),
    ):
        for share, label in ((0.5, "p50"), (0.99, "p99"), (1.0, "max")):
            figures.append(
                Figure(
                    f"start lateness, {JOBS} jobs every second, {name}, {label}",
                    percentile(lateness, share) * 1000,
                    "ms",
                    bare=None if beside is None else percentile(beside, share) * 1000,
                    reach="<= 50 ms" if label == "p99" else "",
                    note=f"{len(lateness):,} runs; {faults}" if label == "p50" else "",
                )
            )
    return figures


def _bare() -> list[float]:
    """Seconds from one instant to each of so many process starts in a row."""
    lateness = []
    for _ in range(5):
        with stopwatch() as watch:
            processes = []
            for _ in range(JOBS):
                processes.append(subprocess.Popen(["/bin/true"], stdout=subprocess.DEVNULL))
                lateness.append(time.perf_counter() - watch.began)
            for process in processes:
                process.wait()
    return lateness


async def _measure_no_op() -> tuple[list[float], str]:
    clock = SystemClock()
    with folder() as place:
        jobs = [SqliteJobStore(place / "jobs.db", clock) for _ in range(2)]
        runs = [SqliteRunStore(place / "runs.db", clock) for _ in range(3)]
        spec = JobSpec(schedule="every 1 second", command=Command(name="x"), overlap=Overlap.ALLOW)
        await register_many(jobs[0], "bench", [spec] * JOBS, now=clock.now())
        telemetry = Telemetry(logger("bench"))
        scheduler = Scheduler(
            jobs[0],
            runs[0],
            FileLease(place / "leader.lock"),
            None,
            telemetry,
            name="bench",
            horizon=timedelta(seconds=15),
            batch=1000,
            lease_s=120,
            keep=timedelta(days=35),
        )
        worker = worker_of(jobs[1], runs[1], runs[2], NoOp(clock))
        stop = Stop()
        services = asyncio.gather(scheduler.run(stop), worker.run(stop))
        since = clock.now().replace(microsecond=0) + timedelta(seconds=3)
        until = since + timedelta(seconds=SECONDS - 1)
        await asyncio.sleep((until - clock.now()).total_seconds() + 2)
        stop.ask()
        await services
        history = await runs[0].history(RunFilter(since=since, until=until), limit=10**6)
        await asyncio.gather(*(store.close() for store in jobs), *(store.close() for store in runs))
    return _judge([dict(run_document(run)) for run in history])


def _measure(jitter: str) -> tuple[list[float], str]:
    with folder() as place, running(place) as (url, headers):
        http = httpx.Client(base_url=url, headers=headers, timeout=30)
        for number in range(JOBS):
            body = {
                "name": f"tick-{number}",
                "schedule": "every 1 second",
                "command": {"exec": ["/bin/true"]},
                "jitter": jitter,
                "overlap": "allow",
            }
            http.post("/jobs", json=body).raise_for_status()
        # Registration itself is a load; the minute begins when it has settled.
        since = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=3)
        until = since + timedelta(seconds=SECONDS - 1)
        time.sleep((until - datetime.now(UTC)).total_seconds() + 4)
        return _judge(history(http, since, until))


def _judge(runs: list[dict[str, object]]) -> tuple[list[float], str]:
    lateness = [run["lateness_s"] for run in runs]
    numbers = [value for value in lateness if isinstance(value, int | float)]
    slots = Counter((run["job"], run["for"]) for run in runs)
    missed = JOBS * SECONDS - len(slots)
    doubled = sum(count - 1 for count in slots.values())
    early = sum(value < 0 for value in numbers)
    failed = sum(run["status"] != "succeeded" or run["attempts"] != 1 for run in runs)
    faults = f"{missed} missed, {doubled} doubled, {early} early, {failed} failed"
    return numbers, faults


if __name__ == "__main__":
    show("Ticks, SQLite", asyncio.run(measure()))
