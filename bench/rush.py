"""A million jobs due at one instant, with nine million others stored, on PostgreSQL.

    python -m bench.rush [--jobs 10000000] [--due 1000000] [--jitter 0]

Planning is timed from the first run saved to the last job moved on. Right before the instant the
runs are counted that a worker could claim at it. Lateness is what history says: start less due.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from datetime import timedelta

from bench import engines, stored
from bench.engines import Engine
from bench.harness import Figure, show
from bench.throughput import SLOTS
from duly.clock import SystemClock, micros
from duly.encoding import to_micros
from duly.job import Command, JobSpec

_HORIZON_S = 90.0
_LATENESS = """
SELECT count(*), count(*) FILTER (WHERE started_at < due_at), min(attempts), max(attempts),
       percentile_cont(ARRAY[0.5, 0.99, 1]) WITHIN GROUP (ORDER BY (started_at - due_at) / 1e6)
  FROM duly.runs WHERE scheduled_for = $1 AND status = 'succeeded'
"""


async def measure(engine: Engine, due: int, jitter: timedelta) -> list[Figure]:
    clock = SystemClock()
    stored_at = time.monotonic()
    # The instant lies as far ahead as storing the jobs may take, and the horizon.
    at = (clock.now() + timedelta(seconds=_HORIZON_S + due / 12000)).replace(microsecond=0)
    schedule = f"daily {at:%H:%M:%S}"
    spec = JobSpec(schedule=schedule, command=Command(name="x"), jitter=jitter)
    await stored.store_due(engine, spec, due, now=clock.now())
    registered = due / (time.monotonic() - stored_at)
    slot = micros(at)
    last_due = slot + to_micros(jitter)
    with stored.roles(engine, horizon_s=_HORIZON_S, slots=SLOTS) as roles:
        await stored.until(
            engine, "SELECT EXISTS (SELECT FROM duly.queue WHERE scheduled_for = $1)", slot,
            every_s=0.02,
        )  # fmt: skip
        planning_s = await stored.until(
            engine, "SELECT min(next_run_at) > $1 FROM duly.timers", last_due, every_s=0.05
        )
        planned_in_time = clock.now() < at
        claimable = await stored.value(
            engine, "SELECT count(*) FROM duly.queue WHERE scheduled_for = $1", slot
        )
        await asyncio.sleep(max(0.0, (at - clock.now()).total_seconds()))
        began = time.monotonic()
        await stored.until(
            engine, "SELECT NOT EXISTS (SELECT FROM duly.queue WHERE scheduled_for = $1)", slot,
            every_s=0.2,
        )  # fmt: skip
        worked_s = time.monotonic() - began
        await asyncio.sleep(1)
        told = "; ".join(role.told() for role in roles)
    ((count, early, least, most, (p50, p99, last)),) = await stored.rows_of(engine, _LATENESS, slot)
    faults = f"{due - count} missed, {early} early, tries {least} to {most}; {told}"
    if jitter:
        name, unit, scale = f"jitter {jitter}", "ms", 1000
        rush = []
    else:
        name, unit, scale = "sharp", "s", 1
        when = "planned before it" if planned_in_time else "planning went on beyond it"
        share = 100 * claimable / due
        rush = [
            Figure("sharp: planning", due / planning_s, "/s", note=f"{planning_s:.1f} s"),
            Figure("sharp: claimable at the instant", share, "%", reach="100 %", note=when),
            Figure("sharp: runs worked off", due / worked_s, "/s"),
        ]
    return [
        Figure(f"{name}: jobs registered in bulk", registered, "/s"),
        *rush,
        Figure(f"{name}: start lateness p50", scale * p50, unit),
        Figure(f"{name}: start lateness p99", scale * p99, unit),
        Figure(f"{name}: start lateness, last", scale * last, unit, note=faults),
    ]


async def main(jobs: int, due: int, jitters: list[float]) -> list[Figure]:
    async with engines.postgres() as engine:
        began = time.monotonic()
        await stored.store_idle(engine, jobs - due)
        figures = [Figure(f"{jobs - due:,} idle jobs stored", time.monotonic() - began, "s")]
        for jitter in jitters:
            figures += await measure(engine, due, timedelta(seconds=jitter))
    return figures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000_000)
    parser.add_argument("--due", type=int, default=1_000_000)
    parser.add_argument("--jitter", type=float, nargs="*", default=[0, 600], help="seconds")
    given = parser.parse_args()
    show("Rush, PostgreSQL", asyncio.run(main(given.jobs, given.due, given.jitter)))
