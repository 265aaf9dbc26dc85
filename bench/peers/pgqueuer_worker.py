# mypy: ignore-errors
"""pgqueuer: `pgqueuer_worker.py URL N`, run by the environment that install.py made.

Finished jobs leave the queue for pgqueuer's log; the time ends when the queue is empty.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from importlib.metadata import version

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

BATCH = 700
WORKERS = 2
ENQUEUE_AT_ONCE = 10_000


async def main(url: str, jobs: int) -> None:
    watcher = await asyncpg.connect(url)
    queries = Queries.from_asyncpg_connection(watcher)
    await queries.install()
    await queries.optimize_autovacuum()
    for added in range(0, jobs, ENQUEUE_AT_ONCE):
        length = min(ENQUEUE_AT_ONCE, jobs - added)
        await queries.enqueue(["nothing"] * length, [None] * length, [0] * length)
    assert await watcher.fetchval("SELECT count(*) FROM pgqueuer") == jobs
    await watcher.execute("VACUUM ANALYZE")

    done = 0
    ran = asyncio.Event()

    async def nothing(_job: object) -> None:
        nonlocal done
        done += 1
        if done == jobs:
            ran.set()

    connections = [await asyncpg.connect(url) for _ in range(WORKERS)]
    workers = [PgQueuer.from_asyncpg_connection(connection) for connection in connections]
    for worker in workers:
        worker.entrypoint("nothing", accepts_context=False)(nothing)

    began = time.perf_counter()
    running = [
        asyncio.create_task(worker.qm.run(batch_size=BATCH, mode=QueueExecutionMode.drain))
        for worker in workers
    ]
    await ran.wait()
    while await watcher.fetchval("SELECT count(*) FROM pgqueuer"):  # noqa: ASYNC110  # only the database knows
        await asyncio.sleep(0.005)
    seconds = time.perf_counter() - began

    for worker in workers:
        worker.shutdown.set()
    await asyncio.gather(*running)
    logged = await watcher.fetchval("SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'")
    assert (done, logged) == (jobs, jobs)
    for connection in (*connections, watcher):
        await connection.close()
    figures = {
        "peer": "pgqueuer",
        "version": version("pgqueuer"),
        "jobs": jobs,
        "seconds": seconds,
        "per_s": jobs / seconds,
        "settings": f"1 process, uvloop, asyncpg, {WORKERS} queue managers, batch_size {BATCH}",
        "history": "kept",
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], int(sys.argv[2])))
