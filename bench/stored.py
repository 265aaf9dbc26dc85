"""A PostgreSQL database with millions of jobs, and Duly's roles beside it as processes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import asyncpg
import psutil

from bench.engines import Engine
from duly.backends.postgres.database import Query
from duly.backends.postgres.floor import Floor
from duly.backends.postgres.jobs import _SQL as JOBS_SQL
from duly.backends.postgres.lanes import Lanes
from duly.backends.postgres.runs import _SQL as RUNS_SQL
from duly.clock import SystemClock, micros
from duly.flow.register import register_many
from duly.job import Command, JobSpec
from duly.store import NewJob

ROOT = Path(__file__).parent.parent
_IDLE = JobSpec(schedule="yearly 01-01 00:00", command=Command(name="idle"))


async def store_idle(engine: Engine, count: int) -> None:
    """Store so many jobs that fall due in a year: one by Duly, the others as copies of its row."""
    assert engine.url is not None
    jobs = engine.jobs()
    due = SystemClock().now() + timedelta(days=365)
    await jobs.add(NewJob("bench", _IDLE, timedelta(0), due))
    await jobs.close()
    connection = await asyncpg.connect(engine.url)
    columns = await connection.fetchval(
        "SELECT string_agg(column_name, ', ' ORDER BY ordinal_position)"
        " FROM information_schema.columns WHERE table_schema = 'duly'"
        " AND table_name = 'jobs' AND column_name <> 'id'"
    )
    await connection.execute(
        f"INSERT INTO duly.jobs ({columns}) SELECT {columns} FROM duly.jobs,"  # noqa: S608
        f" generate_series(2, {count}) WHERE id = 1"
    )
    await connection.execute(
        "INSERT INTO duly.timers (job_id, next_run_at, schedule_version)"
        " SELECT id, next_run_at + id, 1 FROM duly.jobs, duly.timers WHERE job_id = 1 AND id > 1"
    )
    await connection.execute("VACUUM ANALYZE duly.jobs, duly.timers")
    await connection.close()


async def store_due(engine: Engine, spec: JobSpec, count: int, *, now: datetime) -> None:
    """Register so many jobs of one kind, as an import does."""
    jobs = engine.jobs()
    for start in range(0, count, 10_000):
        await register_many(jobs, "bench", [spec] * min(10_000, count - start), now=now)
    await jobs.close()


async def value(engine: Engine, sql: str, *values: Any) -> Any:
    rows = await rows_of(engine, sql, *values)
    return rows[0][0]


async def rows_of(engine: Engine, sql: str, *values: Any) -> list[Any]:
    connection = await asyncpg.connect(engine.url, command_timeout=600)
    try:
        return list(await connection.fetch(sql, *values))
    finally:
        await connection.close()


async def pages_of_idle_polls(engine: Engine) -> tuple[int, int]:
    """Buffers that a worker's and a scheduler's poll touch when nothing is due.

    By readers that have polled before, as those are that go on all day.
    """
    jobs, runs = engine.jobs(), engine.runs()
    for _ in range(2):
        await runs.claim("nobody", ["default"], limit=0)
    lanes: Lanes = runs._lanes  # type: ignore[attr-defined]  # noqa: SLF001
    now = await jobs.now()
    await jobs.due(now, limit=1)
    await jobs.due(now, limit=1)
    floor: Floor = jobs._floor  # type: ignore[attr-defined]  # noqa: SLF001
    worker = await _pages(engine, RUNS_SQL["look"], {"now": None, **lanes.all_of(["default"])})
    scheduler = await _pages(
        engine, JOBS_SQL["due_jobs"], {"floor": floor.begin(), "before": micros(now), "limit": 2000}
    )
    await jobs.close()
    await runs.close()
    return worker, scheduler


async def _pages(engine: Engine, query: Query, values: dict[str, Any]) -> int:
    connection = await asyncpg.connect(engine.url, statement_cache_size=0)
    for _ in range(2):  # the first also reads the catalogue
        plan = await connection.fetchval(
            f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query.text}",
            *[values[name] for name in query.names],
        )
    await connection.close()
    top = json.loads(plan)[0]["Plan"]
    return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])


@dataclass(slots=True)
class Role:
    """A process under watch: the most memory it had, and the share of a core it used."""

    name: str
    process: psutil.Process
    most_rss: int = 0
    cpu_s: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def look(self) -> None:
        try:
            self.most_rss = max(self.most_rss, self.process.memory_info().rss)
            self.cpu_s = sum(self.process.cpu_times()[:2])
        except psutil.NoSuchProcess:
            return

    @property
    def cpu_share(self) -> float:
        return self.cpu_s / (time.monotonic() - self.began)

    def told(self) -> str:
        return f"{self.name} {self.most_rss / 1e6:.0f} MB, {self.cpu_share:.0%} of a core"


@contextmanager
def roles(
    engine: Engine, *, horizon_s: float, slots: int, notes: Path | None = None
) -> Iterator[list[Role]]:
    """A scheduler and a worker whose commands do nothing, as processes while the block lasts.

    Args:
        notes: where the worker writes what it starts and what was acknowledged.
    """
    assert engine.url is not None
    argvs = {
        "scheduler": [
            *(sys.executable, "-m", "duly", "scheduler", *engine.options),
            f"--horizon={horizon_s}",
        ],
        "worker": [sys.executable, "-m", "bench.noop_worker", engine.url, str(slots)],
    }
    if notes is not None:
        argvs["worker"].append(str(notes))
    processes = {name: subprocess.Popen(argv, cwd=ROOT) for name, argv in argvs.items()}
    watched = [Role(name, psutil.Process(each.pid)) for name, each in processes.items()]
    over = Event()

    def watch() -> None:
        while not over.wait(0.25):
            for role in watched:
                role.look()

    watcher = Thread(target=watch)
    watcher.start()
    try:
        yield watched
    finally:
        over.set()
        watcher.join()
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            process.wait(60)


async def until(engine: Engine, sql: str, *values: Any, every_s: float = 0.5) -> float:
    """Wait until a cheap question is answered by true; the seconds it took."""
    began = time.monotonic()
    connection = await asyncpg.connect(engine.url)
    while not await connection.fetchval(sql, *values):  # noqa: ASYNC110 - seen from outside
        await asyncio.sleep(every_s)
    await connection.close()
    return time.monotonic() - began
