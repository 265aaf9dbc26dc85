"""Planning: 300,000 jobs due in one second, saved and moved on, on each engine.

    python -m bench.plan [sqlite] [postgres]

The bare figure is what the engine itself takes for the same rows in batches of the same size, one
insert and one update of each: on SQLite from tuples that are already there, on PostgreSQL wholly on
the server (`generate_series`). Both are measured three times in turns; the middle ones count.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import asyncpg

from bench import engines
from bench.engines import Engine
from bench.harness import Figure, show, stopwatch
from duly.clock import micros
from duly.config import Config
from duly.encoding import to_micros
from duly.events import Planned
from duly.flow.plan import plan
from duly.flow.register import register_many
from duly.job import Command, JobSpec
from duly.store import JobStore, RunStore

JOBS = 300_000
TURNS = 3
DUE = datetime(2026, 10, 24, 2, tzinfo=UTC)
_DAY = timedelta(days=1)
_BATCH = {
    "sqlite": Config(data=Path()).planned_at_a_time,
    "postgres": Config(data=Path(), jobs_url="its", runs_url="own").planned_at_a_time,
}


async def measure(names: Sequence[str] = ("sqlite",)) -> list[Figure]:
    figures: list[Figure] = []
    for name in names:
        async with engines.sqlite() if name == "sqlite" else engines.postgres() as engine:
            figures += await _measure(engine, _BATCH[name])
    return figures


async def _measure(engine: Engine, batch: int) -> list[Figure]:
    jobs, runs = engine.jobs(), engine.runs()
    with stopwatch() as bulk:
        for start in range(0, JOBS, batch):
            specs = [
                JobSpec(schedule="daily 02:00", command=Command(exec=("true",)), name=f"job-{n}")
                for n in range(start, start + batch)
            ]
            await register_many(jobs, "bench", specs, now=DUE - timedelta(hours=1))
    term = await jobs.take_over("bench")
    planned: list[float] = []
    bare: list[float] = []
    for turn in range(TURNS):
        due = DUE + 2 * turn * _DAY
        with stopwatch() as watch:
            await _plan_all(jobs, runs, term, due, batch)
        planned.append(JOBS / watch.seconds)
        bare_of = _bare_sqlite if engine.url is None else _bare_postgres
        bare.append(await bare_of(engine, due + _DAY, batch))
    await jobs.close()
    await runs.close()
    ratios = [f"{one / other:.2f}" for one, other in zip(planned, bare, strict=True)]
    return [
        Figure(f"jobs registered in bulk, {engine.name}", JOBS / bulk.seconds, "/s"),
        Figure(
            f"runs planned, {JOBS:,} due in one second, {engine.name}",
            median(planned),
            "/s",
            bare=median(bare),
            reach=">= 60,000/s" if engine.url is None else ">= 40,000/s, 0.70 of bare",
            note=f"ratios {', '.join(ratios)}",
        ),
    ]


async def _plan_all(jobs: JobStore, runs: RunStore, term: int, due: datetime, batch: int) -> None:
    now, horizon = due - timedelta(seconds=10), timedelta(seconds=15)
    moved = saved = 0
    while True:
        done = await plan(jobs, runs, term=term, now=now, horizon=horizon, batch=batch)
        if not done.read:
            break
        moved += done.moved
        saved += sum(event.saved for event in done.events if isinstance(event, Planned))
    assert moved == saved == JOBS


async def _bare_postgres(engine: Engine, due: datetime, batch: int) -> float:
    """Rows a second that the server inserts and updates when no row comes from outside."""
    connection = await asyncpg.connect(engine.url)
    slot = micros(due)
    insert = (
        "INSERT INTO duly.queue (job_id, scheduled_for, due_at, queue, priority, exclusive,"
        " manual, schedule_version, queued_at)"
        " SELECT n, $1, $1, 'default', 5, true, false, 1, $1 FROM generate_series($2::bigint, $3) n"
    )
    update = "UPDATE duly.timers SET next_run_at = $1 WHERE job_id BETWEEN $2 AND $3"
    with stopwatch() as watch:
        for first in range(1, JOBS + 1, batch):
            last = min(first + batch - 1, JOBS)
            await connection.execute(insert, slot, first, last)
            await connection.execute(update, slot + to_micros(_DAY), first, last)
    await connection.close()
    return JOBS / watch.seconds


async def _bare_sqlite(engine: Engine, due: datetime, batch: int) -> float:
    return await asyncio.to_thread(_bare_files, Path(engine.options[1]), due, batch)


def _bare_files(place: Path, due: datetime, batch: int) -> float:
    """Rows a second that SQLite inserts into one file and updates in another, nothing else."""
    runs, jobs = _connect(place / "runs.db"), _connect(place / "jobs.db")
    slot = micros(due)
    rows = [(n, "queued", slot, slot, "default", 5, 1, 0, 1, slot) for n in range(1, JOBS + 1)]
    moves = [(slot + to_micros(_DAY), n, 1) for n in range(1, JOBS + 1)]
    insert = (
        "INSERT INTO runs (job_id, status, scheduled_for, due_at, queue, priority, exclusive,"
        " manual, schedule_version, queued_at) VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING"
    )
    update = "UPDATE timers SET next_run_at = ? WHERE job_id = ? AND schedule_version = ?"
    with stopwatch() as watch:
        for start in range(0, JOBS, batch):
            for database, statement, values in ((runs, insert, rows), (jobs, update, moves)):
                database.execute("BEGIN IMMEDIATE")
                database.executemany(statement, values[start : start + batch])
                database.execute("COMMIT")
    runs.close()
    jobs.close()
    return JOBS / watch.seconds


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA cache_size=-65536")
    connection.execute("PRAGMA wal_autocheckpoint=4000")
    return connection


if __name__ == "__main__":
    show("Planning", asyncio.run(measure(sys.argv[1:] or ["sqlite", "postgres"])))
