"""PostgreSQL is killed in the middle of a rush, and comes back: nothing acknowledged may be lost.

    python -m bench.crash [--due 1000000]

The server is stopped at once (SIGQUIT, as if the power had failed) in the middle of planning, then
twice while the runs are worked off, and is down for a second each time. Nobody tells the scheduler
or the worker; both must go on by themselves. The worker notes in a file of its own each start and
each result that the database acknowledged, and jobs are registered all the while. Afterwards those
notes are compared with what is stored.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from bench import engines, stored
from bench.engines import Engine
from bench.harness import Figure, show
from bench.noop_worker import NOTE, SETTLED, STARTED
from bench.throughput import SLOTS
from duly.clock import SystemClock, micros
from duly.errors import StoreUnavailable
from duly.job import Command, JobSpec
from duly.store import NewJob
from tests.postgres import Server

_DOWN_S = 1.0
_SAVED = """
SELECT count(*) = $2 FROM (SELECT FROM duly.queue WHERE scheduled_for = $1 LIMIT $2) AS saved
"""
_WORKED_OFF = "SELECT NOT EXISTS (SELECT FROM duly.queue WHERE scheduled_for = $1)"
_ROWS = "SELECT job_id, token, status, started_at < due_at FROM duly.runs WHERE scheduled_for = $1"
_NAMES = "SELECT name, id FROM duly.jobs WHERE team = 'meanwhile'"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a rush.

    Args:
        acknowledged: results that the database took from the worker. One whose answer was lost is
            stored too, but not counted here.
        registered: jobs that were registered meanwhile.
        down_s: for how long the server was away.
        faults: what should be nought, by name.
    """

    acknowledged: int
    registered: int
    down_s: tuple[float, ...]
    faults: dict[str, int]


async def rush(due: int, *, ahead_s: float, settings: Mapping[str, str]) -> Verdict:
    """A rush of so many jobs with three kills.

    Args:
        ahead_s: how far ahead is planned; the instant lies further ahead by what storing takes.
    """
    server = Server("16", settings=settings)
    try:
        await asyncio.to_thread(server.start)
        async with engines.postgres(server.url()) as engine:
            with tempfile.TemporaryDirectory() as folder:
                return await _rush(engine, server, Path(folder) / "notes", due, ahead_s)
    finally:
        await asyncio.to_thread(server.remove)


async def _rush(engine: Engine, server: Server, notes: Path, due: int, ahead_s: float) -> Verdict:
    clock = SystemClock()
    at = (clock.now() + timedelta(seconds=ahead_s + due / 12000)).replace(microsecond=0)
    spec = JobSpec(schedule=f"daily {at:%H:%M:%S}", command=Command(name="x"))
    await stored.store_due(engine, spec, due, now=clock.now())
    slot = micros(at)
    down: list[float] = []
    with stored.roles(engine, horizon_s=ahead_s, slots=SLOTS, notes=notes) as roles:
        async with _registering(engine) as registered:
            await stored.until(engine, _SAVED, slot, due // 3, every_s=0.01)
            down.append(await _kill(server))
            for share in (1 / 3, 2 / 3):
                while _count(notes) < share * due:  # noqa: ASYNC110 - seen from outside
                    await asyncio.sleep(0.01)
                down.append(await _kill(server))
            await stored.until(engine, _WORKED_OFF, slot, every_s=0.2)
        died = sum(not role.process.is_running() for role in roles)
    return await _judge(engine, slot, due, notes, registered, tuple(down), died)


async def _kill(server: Server) -> float:
    """Stop the server at once and start it again; the seconds until it answered."""
    began = time.monotonic()
    await asyncio.to_thread(server.stop, signal.SIGQUIT)
    await asyncio.sleep(_DOWN_S)
    await asyncio.to_thread(server.start)
    return time.monotonic() - began


def _count(notes: Path) -> float:
    """About how many runs were worked off: each leaves two notes."""
    return notes.stat().st_size / NOTE.size / 2 if notes.exists() else 0


@asynccontextmanager
async def _registering(engine: Engine) -> AsyncIterator[dict[str, int]]:
    """Register one job after the other meanwhile; those that were acknowledged."""
    acknowledged: dict[str, int] = {}
    jobs = engine.jobs()
    next_year = SystemClock().now() + timedelta(days=365)

    async def work() -> None:
        while True:
            name = f"job-{len(acknowledged)}"
            spec = JobSpec(schedule="yearly 01-01 00:00", command=Command(name="x"), name=name)
            try:
                added = await jobs.add(NewJob("meanwhile", spec, timedelta(0), next_year))
                acknowledged[name] = added.job.id
            except StoreUnavailable:
                pass  # asked again: it may have been registered all the same
            await asyncio.sleep(0.01)

    task = asyncio.create_task(work())
    try:
        yield acknowledged
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await jobs.close()


async def _judge(
    engine: Engine,
    slot: int,
    due: int,
    notes: Path,
    registered: Mapping[str, int],
    down_s: tuple[float, ...],
    died: int,
) -> Verdict:
    rows = await stored.rows_of(engine, _ROWS, slot)
    kept = {(job_id, token) for job_id, token, status, _ in rows if status == "succeeded"}
    starts: Counter[int] = Counter()
    settled: set[tuple[int, int]] = set()
    for what, job_id, token in NOTE.iter_unpack(await asyncio.to_thread(notes.read_bytes)):
        if what == STARTED:
            starts[job_id] += 1
        elif what == SETTLED:
            settled.add((job_id, token))
    there = dict(await stored.rows_of(engine, _NAMES))
    return Verdict(
        acknowledged=len(settled),
        registered=len(registered),
        down_s=down_s,
        faults={
            "slots without a row that succeeded": due - len(kept),
            "acknowledged results lost": len(settled - kept),
            "acknowledged registrations lost": sum(
                there.get(name) != job_id for name, job_id in registered.items()
            ),
            "runs started more than once": sum(count > 1 for count in starts.values()),
            "runs started early": sum(early for *_, early in rows),
            "roles that died": died,
        },
    )


async def main(due: int) -> list[Figure]:
    verdict = await rush(due, ahead_s=60, settings=engines.SETTINGS)
    down = ", ".join(f"{each:.1f}" for each in verdict.down_s)
    return [
        Figure("results acknowledged", verdict.acknowledged, "", note=f"server away {down} s"),
        Figure("jobs registered meanwhile", verdict.registered, ""),
        *(Figure(name, amount, "", reach="0") for name, amount in verdict.faults.items()),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--due", type=int, default=1_000_000)
    show("Crash in the rush, PostgreSQL", asyncio.run(main(parser.parse_args().due)))
