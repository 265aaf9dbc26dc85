"""A worker process whose commands do nothing: python -m bench.noop_worker URL SLOTS [NOTES].

Into the file NOTES it writes what it starts, and which results the database acknowledged.
"""

from __future__ import annotations

import asyncio
import signal
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from bench.engines import postgres_stores
from bench.workers import NoOp, worker_of
from duly.backends.postgres import Database, PostgresRunStore
from duly.clock import AnchoredClock, SystemClock
from duly.executor import Order, Result
from duly.services.loop import Stop
from duly.store import Settlement

# What happened, the job's id, the claim's token.
NOTE = struct.Struct("<Bqq")
STARTED, SETTLED = 1, 2


class _NotedStarts(NoOp):
    def __init__(self, clock: AnchoredClock, notes: BinaryIO) -> None:
        super().__init__(clock)
        self._notes = notes

    def start(self, order: Order, on_end: Callable[[Result], None]) -> None:
        self._notes.write(NOTE.pack(STARTED, order.run.job_id, order.run.token))
        super().start(order, on_end)


class _NotedResults(PostgresRunStore):
    def __init__(self, url: str, notes: BinaryIO) -> None:
        super().__init__(Database(url, "runs", size=4), local=SystemClock())
        self._notes = notes

    async def settle(self, settlements: Sequence[Settlement]) -> list[bool]:
        ours = await super().settle(settlements)
        for settlement, held in zip(settlements, ours, strict=True):
            if held:
                self._notes.write(NOTE.pack(SETTLED, settlement.run.job_id, settlement.run.token))
        self._notes.flush()
        return ours


async def main(url: str, slots: int, notes: Path | None) -> None:
    jobs, runs = postgres_stores(url)
    _, heartbeats = postgres_stores(url)
    clock = AnchoredClock()
    executor = NoOp(clock)
    if notes is not None:
        file = notes.open("wb")
        runs, executor = _NotedResults(url, file), _NotedStarts(clock, file)
    worker = worker_of(jobs, runs, heartbeats, executor, slots=slots, clock=clock)
    stop = Stop()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.ask)
    await worker.run(stop)
    for store in (jobs, runs, heartbeats):
        await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]) if sys.argv[3:] else None))
