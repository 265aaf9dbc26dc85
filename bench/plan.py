"""Planning on SQLite: 300,000 jobs due in one second, saved and moved on.

The bare figure is what SQLite itself takes for the same rows: one insert and one update each, in
transactions of the same size, from tuples that are already there.
"""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.harness import Figure, folder, show, stopwatch
from duly.backends.sqlite import SqliteJobStore, SqliteRunStore
from duly.clock import SystemClock, micros
from duly.config import Config
from duly.flow.plan import plan
from duly.flow.register import register_many
from duly.job import Command, JobSpec
from duly.store import RunFilter

JOBS = 300_000
BATCH = Config(data=Path()).planned_at_a_time
DUE = datetime(2026, 10, 24, 2, tzinfo=UTC)


async def measure() -> list[Figure]:
    with folder() as place:
        return await _measure(place)


async def _measure(place: Path) -> list[Figure]:
    clock = SystemClock()
    jobs = SqliteJobStore(place / "jobs.db", clock)
    runs = SqliteRunStore(place / "runs.db", clock)
    registered_at = DUE - timedelta(hours=1)
    with stopwatch() as bulk:
        for start in range(0, JOBS, BATCH):
            specs = [
                JobSpec(schedule="daily 02:00", command=Command(exec=("true",)), name=f"job-{n}")
                for n in range(start, start + BATCH)
            ]
            await register_many(jobs, "bench", specs, now=registered_at)
    term = await jobs.take_over("bench")
    moved = 0
    with stopwatch() as planning:
        while True:
            done = await plan(
                jobs,
                runs,
                term=term,
                now=DUE - timedelta(seconds=10),
                horizon=timedelta(seconds=15),
                batch=BATCH,
            )
            if not done.read:
                break
            moved += done.moved
    assert moved == JOBS
    assert len(await runs.history(RunFilter(since=DUE, until=DUE), limit=JOBS + 1)) == JOBS
    await jobs.close()
    await runs.close()
    bare = await asyncio.to_thread(_bare, place)
    return [
        Figure("jobs registered in bulk", JOBS / bulk.seconds, "/s"),
        Figure(
            f"runs planned, {JOBS:,} due in one second",
            JOBS / planning.seconds,
            "/s",
            bare=bare,
            reach=">= 60,000/s",
        ),
    ]


def _bare(place: Path) -> float:
    """Rows a second that SQLite inserts into one file and updates in another, nothing else."""
    (place / "bare").mkdir()
    clock = SystemClock()
    for name, store in (("jobs.db", SqliteJobStore), ("runs.db", SqliteRunStore)):
        asyncio.run(store(place / "bare" / name, clock).close())
    runs = _connect(place / "bare" / "runs.db")
    jobs = _connect(place / "bare" / "jobs.db")
    jobs.execute("PRAGMA foreign_keys=OFF")
    slot = micros(DUE)
    jobs.executemany("INSERT INTO timers VALUES (?, ?, 1)", ((n, slot) for n in range(JOBS)))
    rows = [(n, "queued", slot, slot, "default", 5, 1, 0, 1, slot) for n in range(JOBS)]
    moves = [(slot + 86_400_000_000, n, 1) for n in range(JOBS)]
    insert = (
        "INSERT INTO runs (job_id, status, scheduled_for, due_at, queue, priority, exclusive,"
        " manual, schedule_version, queued_at) VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING"
    )
    update = "UPDATE timers SET next_run_at = ? WHERE job_id = ? AND schedule_version = ?"
    with stopwatch() as watch:
        for start in range(0, JOBS, BATCH):
            for database, statement, values in ((runs, insert, rows), (jobs, update, moves)):
                database.execute("BEGIN IMMEDIATE")
                database.executemany(statement, values[start : start + BATCH])
                database.execute("COMMIT")
    return JOBS / watch.seconds


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA cache_size=-65536")
    connection.execute("PRAGMA wal_autocheckpoint=4000")
    return connection


if __name__ == "__main__":
    show("Planning, SQLite", asyncio.run(measure()))
