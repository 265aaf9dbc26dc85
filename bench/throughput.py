"""No-op runs a second, end to end, with all history kept: Duly on each engine, and the peers.

    python -m bench.throughput [sqlite] [postgres] [peers]

A full queue of runs, each of a job of its own, is worked off by one worker: claimed, its job read,
executed (nothing), its end stored. Time runs from the worker's start until the last end is stored.
"""

from __future__ import annotations

import asyncio
import sys

from bench import engines
from bench.engines import Engine
from bench.harness import Figure, show
from bench.peers import run as peers_run
from bench.workers import NoOp, work_off
from duly.clock import SystemClock
from tests.postgres import Server

RUNS = 200_000
SLOTS = 1000


async def measure(engine: Engine) -> Figure:
    rate = await work_off(engine, NoOp(SystemClock()), RUNS, slots=SLOTS)
    return Figure(f"no-op runs, {engine.name}, history kept", rate, "/s")


async def main(what: list[str]) -> list[Figure]:
    figures = []
    if "sqlite" in what:
        async with engines.sqlite() as engine:
            figures.append(await measure(engine))
            figures[-1].reach = ">= 20,000/s"
    server = Server("16", settings=engines.SETTINGS)
    try:
        url = (await asyncio.to_thread(server.start)).url()
        if "postgres" in what:
            async with engines.postgres(url) as engine:
                figures.append(await measure(engine))
        if "peers" in what:
            others = peers_run.figures(await peers_run.measure(url))
            if "postgres" in what:
                _compare(figures[-1], others)
            figures += others
    finally:
        await asyncio.to_thread(server.remove)
    return figures


def _compare(duly: Figure, others: list[Figure]) -> None:
    ratios = [f"{duly.value / each.value:.2f} x {each.what.split()[0]}" for each in others]
    duly.note = ", ".join(ratios)
    duly.reach = ">= 1.3 x graphile-worker, >= 2.5 x pgqueuer"


if __name__ == "__main__":
    show("Throughput", asyncio.run(main(sys.argv[1:] or ["sqlite", "postgres", "peers"])))
