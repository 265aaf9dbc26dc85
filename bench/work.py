"""Working off a full queue on SQLite: no-op runs, and `/bin/true` with output and history.

The bare figure beside `/bin/true` is how many processes this machine starts and reaps in a row.
"""

from __future__ import annotations

import asyncio
import subprocess

from bench import engines
from bench.harness import Figure, show, stopwatch
from bench.workers import NoOp, work_off
from duly.backends.process import ProcessExecutor
from duly.clock import SystemClock
from duly.executor import NamedCommands

NO_OPS = 50_000
COMMANDS = 5_000
BARE = 1_000


async def measure() -> list[Figure]:
    clock = SystemClock()
    processes = ProcessExecutor(lambda: NamedCommands({}, ""), clock)
    async with engines.sqlite() as engine:
        no_op = await work_off(engine, NoOp(clock), NO_OPS)
    async with engines.sqlite() as engine:
        true = await work_off(engine, processes, COMMANDS)
    bare = await asyncio.to_thread(_bare)
    return [
        Figure("no-op runs, end to end, history kept", no_op, "/s"),
        Figure("/bin/true runs, output and history kept", true, "/s", bare, reach=">= 700/s"),
    ]


def _bare() -> float:
    with stopwatch() as watch:
        for _ in range(BARE):
            subprocess.run(  # the bare start, pipe included
                ["/bin/true"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True
            )
    return BARE / watch.seconds


if __name__ == "__main__":
    show("Work, SQLite", asyncio.run(measure()))
