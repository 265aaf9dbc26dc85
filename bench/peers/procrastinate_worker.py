# mypy: ignore-errors
"""Procrastinate: `procrastinate_worker.py URL N`, run by the environment that install.py made.

Finished jobs stay, as succeeded; the time ends when no other status is left.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from importlib.metadata import version

import psycopg
from procrastinate import App, PsycopgConnector

CONCURRENCY = 10
POOL = 10
DELETE_JOBS = "never"
DEFER_AT_ONCE = 1_000
LEFT = "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"


async def main(url: str, jobs: int) -> None:
    app = App(connector=PsycopgConnector(conninfo=url, min_size=POOL, max_size=POOL))
    done = 0
    ran = asyncio.Event()

    @app.task(name="nothing")
    async def nothing() -> None:
        nonlocal done
        done += 1
        if done == jobs:
            ran.set()

    watcher = await psycopg.AsyncConnection.connect(url, autocommit=True)

    async def count(sql: str) -> int:
        return (await (await watcher.execute(sql)).fetchone())[0]

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for added in range(0, jobs, DEFER_AT_ONCE):
            await nothing.batch_defer_async(*[{}] * min(DEFER_AT_ONCE, jobs - added))
        assert await count(LEFT) == jobs
        await watcher.execute("VACUUM ANALYZE")

        began = time.perf_counter()
        running = asyncio.create_task(
            app.run_worker_async(
                concurrency=CONCURRENCY,
                wait=False,
                delete_jobs=DELETE_JOBS,
                listen_notify=False,
                install_signal_handlers=False,
            )
        )
        await ran.wait()
        while await count(LEFT):  # noqa: ASYNC110  # only the database knows
            await asyncio.sleep(0.005)
        seconds = time.perf_counter() - began
        await running

    succeeded = await count("SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'")
    await watcher.close()
    assert (done, succeeded) == (jobs, jobs)
    figures = {
        "peer": "procrastinate",
        "version": version("procrastinate"),
        "jobs": jobs,
        "seconds": seconds,
        "per_s": jobs / seconds,
        "settings": f"1 process, concurrency {CONCURRENCY}, pool {POOL}, "
        f"delete_jobs {DELETE_JOBS}, no listen_notify",
        "history": "kept",
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
