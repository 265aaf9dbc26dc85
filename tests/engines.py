"""The engines that a test of the stores runs against, one after the other. A new one adds a line.

Each opening makes databases of its own. On PostgreSQL they are copies of a migrated one, on servers
that are started once and do not wait for the disk.
"""

from __future__ import annotations

import asyncio
import atexit
import os
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import asyncpg

from duly.backends.postgres import Database, PostgresJobStore, PostgresRunStore, migrate
from duly.backends.sqlite import SqliteJobStore, SqliteRunStore
from duly.clock import Clock
from duly.store import JobStore, RunStore
from tests.postgres import Server, new_database

_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class Stores(NamedTuple):
    """Both stores of one engine, empty, on a clock that the test moves.

    Args:
        again: opens the same databases once more, as another process would; the caller closes them.
    """

    jobs: JobStore
    runs: RunStore
    again: Callable[[], tuple[JobStore, RunStore]]
    remove: Callable[[], Awaitable[None]]


async def _sqlite(folder: Path, clock: Clock) -> Stores:
    def again() -> tuple[JobStore, RunStore]:
        return (
            SqliteJobStore(folder / "jobs.db", clock),
            SqliteRunStore(folder / "runs.db", clock),
        )

    jobs, runs = again()

    async def remove() -> None:
        await jobs.close()
        await runs.close()

    return Stores(jobs, runs, again, remove)


def _postgres(jobs_on: str, runs_on: str) -> Callable[[Path, Clock], Awaitable[Stores]]:
    async def opened(_folder: Path, clock: Clock) -> Stores:
        jobs_url = await borrow_database(jobs_on)
        runs_url = jobs_url if runs_on == jobs_on else await borrow_database(runs_on)

        def again() -> tuple[JobStore, RunStore]:
            return (
                PostgresJobStore(Database(jobs_url, "jobs"), clock),
                PostgresRunStore(Database(runs_url, "runs"), clock),
            )

        jobs, runs = again()

        async def remove() -> None:
            await jobs.close()
            await runs.close()
            for url in {jobs_url, runs_url}:
                await give_back(url)

        return Stores(jobs, runs, again, remove)

    return opened


ENGINES: dict[str, Callable[[Path, Clock], Awaitable[Stores]]] = {
    "sqlite": _sqlite,
    "postgres16": _postgres("16", "16"),
    "postgres18": _postgres("18", "18"),
    "postgres16+18": _postgres("16", "18"),
}


@cache
def server_url(version: str) -> str:
    """A server of that version for the whole of the test session."""
    if own := os.environ.get("DULY_TEST_POSTGRES"):
        return own
    server = Server(version, settings=_FAST)
    atexit.register(server.remove)
    return server.start().url()


def new_url(version: str = "16") -> str:
    """An empty database on that server, for processes that make their tables themselves."""
    return asyncio.run(new_database(server_url(version)))


# Databases that nobody uses at present: emptying one is faster than making one.
_free: defaultdict[str, list[str]] = defaultdict(list)


async def borrow_database(version: str) -> str:
    """A migrated database for both stores, empty; its URL."""
    # Started in a thread: the server's start has an event loop of its own.
    server = await asyncio.to_thread(server_url, version)
    if _free[server]:
        return _free[server].pop()
    made = await new_database(server)
    await migrate(made, "jobs")
    await migrate(made, "runs")
    return made


async def give_back(url: str) -> None:
    """Empty the database for the next test."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(_EMPTY)
    finally:
        await connection.close()
    _free[url.rpartition("/")[0] + "/postgres"].append(url)


_EMPTY = """
TRUNCATE duly.jobs, duly.timers, duly.answers, duly.leases, duly.queue, duly.runs, duly.tries,
         duly.outputs, duly.workers RESTART IDENTITY;
UPDATE duly.partitions SET term = 0, leader = NULL, began_at = NULL;
ALTER SEQUENCE duly.last_token RESTART;
DO $$
  DECLARE day regclass;
  BEGIN
    FOR day IN SELECT inhrelid::regclass FROM pg_inherits JOIN pg_class ON pg_class.oid = inhparent
                WHERE relkind = 'p' AND relnamespace = 'duly'::regnamespace LOOP
      EXECUTE format('DROP TABLE %s', day);
    END LOOP;
  END
$$;
"""
