"""A worker process whose commands do nothing: python -m bench.noop_worker URL SLOTS."""

from __future__ import annotations

import asyncio
import signal
import sys

from bench.engines import postgres_stores
from bench.workers import NoOp, worker_of
from duly.clock import AnchoredClock
from duly.services.loop import Stop


async def main(url: str, slots: int) -> None:
    stores = [postgres_stores(url) for _ in range(2)]
    (jobs, runs), (_, heartbeats) = stores
    clock = AnchoredClock()
    worker = worker_of(jobs, runs, heartbeats, NoOp(clock), slots=slots, clock=clock)
    stop = Stop()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.ask)
    await worker.run(stop)
    for pair in stores:
        for store in pair:
            await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
