# mypy: ignore-errors
"""APScheduler 4: `apscheduler_worker.py URL N`, run by the environment that install.py made.

Finished jobs are deleted, their results not kept; the time ends when the table of jobs is empty.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from importlib.metadata import version

import asyncpg
from apscheduler import AsyncScheduler
from apscheduler.datastores.sqlalchemy import SQLAlchemyDataStore
from apscheduler.executors.async_ import AsyncJobExecutor
from sqlalchemy.ext.asyncio import create_async_engine

MAX_JOBS = 500
POOL = 10
ADD_AT_ONCE = 8

done = 0
jobs = 0
ran = asyncio.Event()


async def nothing() -> None:
    global done  # noqa: PLW0603  # the data store finds a task by its module and name
    done += 1
    if done == jobs:
        ran.set()


async def main(url: str) -> None:
    watcher = await asyncpg.connect(url)
    engine = create_async_engine(
        url.replace("postgresql://", "postgresql+asyncpg://"), pool_size=POOL, max_overflow=0
    )
    scheduler = AsyncScheduler(
        SQLAlchemyDataStore(engine),
        max_concurrent_jobs=MAX_JOBS,
        job_executors={"async": AsyncJobExecutor()},
        cleanup_interval=None,
    )
    async with scheduler:
        await scheduler.configure_task("nothing", func=nothing, max_running_jobs=None)
        left = iter(range(jobs))

        async def add() -> None:
            for _ in left:
                await scheduler.add_job("nothing")

        await asyncio.gather(*(add() for _ in range(ADD_AT_ONCE)))
        assert await watcher.fetchval("SELECT count(*) FROM jobs") == jobs
        await watcher.execute("VACUUM ANALYZE")

        began = time.perf_counter()
        await scheduler.start_in_background()
        await ran.wait()
        while await watcher.fetchval("SELECT count(*) FROM jobs"):  # noqa: ASYNC110  # only the database knows
            await asyncio.sleep(0.005)
        seconds = time.perf_counter() - began
        await scheduler.stop()
    await engine.dispose()
    await watcher.close()
    assert done == jobs
    figures = {
        "peer": "apscheduler",
        "version": version("apscheduler"),
        "jobs": jobs,
        "seconds": seconds,
        "per_s": jobs / seconds,
        "settings": f"1 process, asyncpg, local events, {MAX_JOBS} jobs at once, pool {POOL}",
        "history": "deleted",
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    jobs = int(sys.argv[2])
    asyncio.run(main(sys.argv[1]))
