"""The engines that benchmarks run on: SQLite in a folder, PostgreSQL on a server started for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bench.harness import folder
from duly.backends.postgres import Database, PostgresJobStore, PostgresRunStore, migrate
from duly.backends.sqlite import SqliteJobStore, SqliteRunStore
from duly.clock import SystemClock
from duly.store import JobStore, RunStore
from tests.postgres import Server, new_database

# Durable, with memory for ten million rows; everything else as the server comes.
SETTINGS: Mapping[str, str] = {
    "shared_buffers": "2GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "15min",
}


@dataclass(frozen=True, slots=True)
class Engine:
    """Where one benchmark's data lies; each call opens another connection, as a process would.

    Args:
        url: of the database, where it is one of PostgreSQL's.
        options: what `duly` roles are told, to run on it.
    """

    name: str
    jobs: Callable[[], JobStore]
    runs: Callable[[], RunStore]
    url: str | None
    options: tuple[str, ...]


@asynccontextmanager
async def sqlite() -> AsyncIterator[Engine]:
    clock = SystemClock()
    with folder() as place:
        yield Engine(
            "SQLite",
            lambda: SqliteJobStore(place / "jobs.db", clock),
            lambda: SqliteRunStore(place / "runs.db", clock),
            None,
            ("--data", str(place)),
        )


@asynccontextmanager
async def postgres(server_url: str | None = None) -> AsyncIterator[Engine]:
    """A database of its own, on this server or one that is started and removed again."""
    server = None
    if server_url is None:
        server = Server("16", settings=SETTINGS)
        server_url = (await asyncio.to_thread(server.start)).url()
    try:
        url = await new_database(server_url)
        for part in ("jobs", "runs"):
            await migrate(url, part)
        with folder() as place:
            yield Engine(
                "PostgreSQL",
                lambda: postgres_stores(url)[0],
                lambda: postgres_stores(url)[1],
                url,
                ("--data", str(place), "--jobs-url", url),
            )
    finally:
        if server is not None:
            await asyncio.to_thread(server.remove)


def postgres_stores(url: str) -> tuple[JobStore, RunStore]:
    """Both stores, with connections of their own."""
    clock = SystemClock()
    return (
        PostgresJobStore(Database(url, "jobs", size=4), local=clock),
        PostgresRunStore(Database(url, "runs", size=4), local=clock),
    )
