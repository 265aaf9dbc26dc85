"""116 runs a second for ten minutes, with ten million jobs stored, on PostgreSQL.

    python -m bench.lateness [--jobs 10000000] [--minutes 10]

Jobs that run every minute, each at its own moment of it. Lateness is what history says: start less
due. The roles are processes; the worker's commands do nothing.
"""

from __future__ import annotations

import argparse
import asyncio
from datetime import timedelta

from bench import engines, stored
from bench.engines import Engine
from bench.harness import Figure, show
from duly.clock import SystemClock, micros
from duly.job import Command, JobSpec, Overlap

RATE = 116
_LATENESS = """
SELECT count(*), count(*) FILTER (WHERE started_at < due_at), min(attempts), max(attempts),
       count(*) FILTER (WHERE status <> 'succeeded'),
       percentile_cont(ARRAY[0.5, 0.99, 1]) WITHIN GROUP (ORDER BY (started_at - due_at) / 1e3)
  FROM duly.runs WHERE scheduled_for >= $1 AND scheduled_for < $2
"""


async def measure(engine: Engine, minutes: int) -> list[Figure]:
    clock = SystemClock()
    every_minute = JobSpec(
        schedule="every 1 minute",
        command=Command(name="x"),
        jitter=timedelta(minutes=1),
        overlap=Overlap.ALLOW,
    )
    count = RATE * 60
    await stored.store_due(engine, every_minute, count, now=clock.now())
    with stored.roles(engine, horizon_s=15, slots=256) as roles:
        await asyncio.sleep(5)
        since = clock.now().replace(second=0, microsecond=0) + timedelta(minutes=1)
        until = since + timedelta(minutes=minutes)
        # The jitter of the last minute's runs reaches into the next.
        await asyncio.sleep((until - clock.now()).total_seconds() + 62)
        told = "; ".join(role.told() for role in roles)
        worker, scheduler = await stored.pages_of_idle_polls(engine)
    ((ran, early, least, most, failed, (p50, p99, last)),) = await stored.rows_of(
        engine, _LATENESS, micros(since), micros(until)
    )
    faults = f"{ran:,} runs: {count * minutes - ran} missed, {early} early, {failed} failed"
    return [
        Figure("start lateness p50", p50, "ms", reach="<= 10 ms", note=faults),
        Figure("start lateness p99", p99, "ms", reach="<= 50 ms", note=f"tries {least} to {most}"),
        Figure("start lateness, max", last, "ms", note=told),
        Figure("idle poll of a worker", worker, "buffers", reach="<= 10"),
        Figure("idle poll of a scheduler", scheduler, "buffers", reach="<= 10"),
    ]


async def main(jobs: int, minutes: int) -> list[Figure]:
    async with engines.postgres() as engine:
        await stored.store_idle(engine, jobs - RATE * 60)
        return await measure(engine, minutes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000_000)
    parser.add_argument("--minutes", type=int, default=10)
    given = parser.parse_args()
    show("Lateness, PostgreSQL", asyncio.run(main(given.jobs, given.minutes)))
