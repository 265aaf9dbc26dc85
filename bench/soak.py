"""An hour's runs in minutes: does anything grow that should not? PostgreSQL.

    python -m bench.soak [--runs 420000]

So many runs (an hour at 116 a second) are planned and worked off at full speed, by a scheduler and
a worker as processes, each job again and again. Sizes and claim times at the start and at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from datetime import timedelta
from typing import Any

from bench import engines, stored
from bench.engines import Engine
from bench.harness import Figure, show
from bench.throughput import SLOTS
from duly.clock import SystemClock, micros
from duly.job import Command, JobSpec, Overlap
from duly.run import PlannedSlot

ROUND = 20_000
_SIZES = """
SELECT relname, pg_relation_size(relid) AS bytes, pg_indexes_size(relid) AS index_bytes, n_dead_tup
  FROM pg_stat_user_tables WHERE schemaname = 'duly' AND relname IN ('queue', 'timers')
"""


async def measure(engine: Engine, runs: int) -> list[Figure]:
    clock = SystemClock()
    spec = JobSpec(schedule="daily 02:00", command=Command(name="x"), overlap=Overlap.ALLOW)
    await stored.store_due(engine, spec, ROUND, now=clock.now())
    marks: list[dict[str, Any]] = []
    began = time.monotonic()
    with stored.roles(engine, horizon_s=15, slots=SLOTS) as roles:
        await asyncio.sleep(3)
        for number in range(runs // ROUND):
            await _round(engine, clock.now())
            if number in {1, runs // ROUND - 1}:
                marks.append(await _mark(engine))
        told = "; ".join(role.told() for role in roles)
    seconds = time.monotonic() - began
    first, last = marks
    figures = [Figure("runs planned and worked off", runs / seconds, "/s", note=told)]
    for name, unit in (
        ("queue", "MB"),
        ("queue indexes", "MB"),
        ("queue dead rows", ""),
        ("claim of nothing", "ms"),
        ("claim of 500", "ms"),
    ):
        figures.append(
            Figure(f"{name}, at the end", last[name], unit, note=f"at the start {first[name]:.1f}")
        )
    return figures


async def _round(engine: Engine, now: Any) -> None:
    """One slot of all jobs, saved as planning saves it, and worked off."""
    store = engine.runs()
    ids = list(range(1, ROUND + 1))
    slot = micros(now)
    for start in range(0, ROUND, 5000):
        part = ids[start : start + 5000]
        await store.save_slots([PlannedSlot(slot, "default", 5, False, 1, part, [0] * len(part))])
    await store.close()
    await stored.until(
        engine,
        "SELECT NOT EXISTS (SELECT FROM duly.queue WHERE scheduled_for = $1)",
        slot,
        every_s=0.05,
    )


async def _mark(engine: Engine) -> dict[str, Any]:
    sizes = {row["relname"]: row for row in await stored.rows_of(engine, _SIZES)}
    store = engine.runs()
    # In a queue of its own, so that the worker under load does not take them.
    await _timed_claim(store, 500)  # connects
    nothing = await _timed_claim(store, 500)
    slot = micros(SystemClock().now() - timedelta(seconds=1))
    ids = list(range(1, 501))
    await store.save_slots([PlannedSlot(slot, "probe", 5, False, 1, ids, [0] * 500)])
    full = await _timed_claim(store, 500)
    await store.close()
    return {
        "queue": sizes["queue"]["bytes"] / 1e6,
        "queue indexes": sizes["queue"]["index_bytes"] / 1e6,
        "queue dead rows": sizes["queue"]["n_dead_tup"],
        "claim of nothing": nothing,
        "claim of 500": full,
    }


async def _timed_claim(store: Any, limit: int) -> float:
    began = time.perf_counter()
    await store.claim("probe", ["probe"], limit=limit)
    return (time.perf_counter() - began) * 1000


async def main(runs: int) -> list[Figure]:
    async with engines.postgres() as engine:
        return await measure(engine, runs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=420_000)
    show("Soak, PostgreSQL", asyncio.run(main(parser.parse_args().runs)))
