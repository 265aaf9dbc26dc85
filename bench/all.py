"""Every benchmark, in one table: `make bench`."""

from __future__ import annotations

import asyncio

from bench import plan, register, ticks, work
from bench.harness import show


def main() -> None:
    figures = []
    for benchmark in (register, plan, work, ticks):
        figures += asyncio.run(benchmark.measure())
    show("Duly on SQLite", figures)


if __name__ == "__main__":
    main()
