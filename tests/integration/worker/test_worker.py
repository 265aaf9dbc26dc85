"""The worker service on real stores and processes, where a database fails for a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

from duly.backends.process import ProcessExecutor
from duly.backends.sqlite import SqliteJobStore, SqliteRunStore
from duly.clock import AnchoredClock, SystemClock
from duly.errors import StoreUnavailable
from duly.executor import NamedCommands
from duly.flow.register import register
from duly.flow.trigger import trigger
from duly.job import Command, JobSpec, Retry, Task
from duly.run import Outcome, Output, Run, RunKey, Status
from duly.services.loop import Stop
from duly.services.worker import Worker
from duly.store import Claim, Settlement, WorkerInfo
from duly.telemetry import Telemetry, logger

pytestmark = pytest.mark.anyio

SLOTS = 8

SPEC = JobSpec(
    schedule="yearly 01-01 00:00", command=Command(shell="echo ran"), retry=Retry(tries=1)
)


class MomentarilyDeafJobs(SqliteJobStore):
    """A jobs database that does not answer the first look-ups of a worker."""

    failures = 0

    async def tasks(self, job_ids: Sequence[int]) -> dict[int, Task]:
        if self.failures > 0:
            self.failures -= 1
            raise StoreUnavailable("jobs.db: did not answer")
        return await super().tasks(job_ids)


class MomentarilyDeafRuns(SqliteRunStore):
    """A runs database that does not take the first results, or whose answers do not arrive."""

    failures = 0
    lost_answers = 0

    async def claim(
        self, worker: str, queues: Sequence[str], *, limit: int, now: datetime | None = None
    ) -> Claim:
        answer = await super().claim(worker, queues, limit=limit, now=now)
        if answer.runs and self.lost_answers > 0:
            self.lost_answers -= 1
            raise StoreUnavailable("runs.db: the connection broke")
        return answer

    async def settle(self, settlements: Sequence[Settlement]) -> list[bool]:
        if self.failures > 0:
            self.failures -= 1
            raise StoreUnavailable("runs.db: did not answer")
        return await super().settle(settlements)


class MomentarilyDeafHeartbeats(SqliteRunStore):
    """A runs database that takes no renewals for a while."""

    failures = 0

    async def beat(self, worker: WorkerInfo, *, now: datetime | None = None) -> None:
        if self.failures > 0:
            self.failures -= 1
            raise StoreUnavailable("runs.db: did not answer")
        await super().beat(worker, now=now)


class Bench:
    """A worker and its stores."""

    def __init__(self, folder: Path, *, beat_s: float = 1, lease_s: float = 10) -> None:
        self.clock = SystemClock()
        self.jobs = MomentarilyDeafJobs(folder / "jobs.db", self.clock)
        self.runs = MomentarilyDeafRuns(folder / "runs.db", self.clock)
        self.heartbeats = MomentarilyDeafHeartbeats(folder / "runs.db", self.clock)
        self.stop = Stop()
        now = self.clock.now()
        clock = AnchoredClock()
        self.worker = Worker(
            self.jobs,
            self.runs,
            self.heartbeats,
            ProcessExecutor(lambda: NamedCommands({}, ""), clock),
            clock,
            Telemetry(logger("test")),
            info=WorkerInfo("w", "host", 1, ("default",), SLOTS, now, now),
            beat_s=beat_s,
            lease_s=lease_s,
            grace_s=1,
        )

    async def queue(self, spec: JobSpec = SPEC) -> RunKey:
        now = self.clock.now()
        added = await register(self.jobs, "ops", spec, now=now)
        return await trigger(self.jobs, self.runs, added.job.id, now=now)

    async def settled(self, key: RunKey, *statuses: Status) -> Run:
        async with asyncio.timeout(20):
            while True:
                run = await self.heartbeats.get(key)
                assert run is not None
                if run.status in statuses:
                    return run
                await asyncio.sleep(0.02)

    async def close(self) -> None:
        for store in (self.jobs, self.runs, self.heartbeats):
            await store.close()


async def test_runs_taken_while_the_jobs_database_is_deaf_start_when_it_hears_again(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    # As many as there are slots: runs that wait for their start must not be in their own way.
    keys = [await bench.queue() for _ in range(SLOTS)]
    bench.jobs.failures = 3
    working = asyncio.create_task(bench.worker.run(bench.stop))
    runs = [await bench.settled(key, Status.SUCCEEDED) for key in keys]
    bench.stop.ask()
    await working
    await bench.close()
    assert ([run.attempts for run in runs], bench.jobs.failures) == ([1] * SLOTS, 0)


async def test_a_claim_that_was_carried_out_but_not_heard_starts_its_runs_once(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    keys = [await bench.queue() for _ in range(3)]
    bench.runs.lost_answers = 1
    working = asyncio.create_task(bench.worker.run(bench.stop))
    runs = [await bench.settled(key, Status.SUCCEEDED) for key in keys]
    bench.stop.ask()
    await working
    await bench.close()
    assert [run.attempts for run in runs] == [1, 1, 1]


async def test_runs_not_started_when_the_lease_ends_are_handed_back_and_start_later(
    tmp_path: Path,
) -> None:
    """Others may have them by then: a start under the old claim would be a second copy."""
    bench = Bench(tmp_path, beat_s=0.2, lease_s=0.8)
    key = await bench.queue()
    bench.jobs.failures = 10**6
    working = asyncio.create_task(bench.worker.run(bench.stop))
    await bench.settled(key, Status.RUNNING)
    bench.heartbeats.failures = 10**6
    await asyncio.sleep(1.5)  # the lease is over
    bench.heartbeats.failures = bench.jobs.failures = 0
    run = await bench.settled(key, Status.SUCCEEDED)
    bench.stop.ask()
    await working
    tries = await bench.heartbeats.tries(key)
    await bench.close()
    assert (run.attempts, run.interruptions) == (1, 1)
    assert tries[0].reason == "its worker could not renew its lease before the start"


async def test_runs_that_could_never_start_are_handed_back_at_the_stop(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    key = await bench.queue()
    bench.jobs.failures = 10**6
    working = asyncio.create_task(bench.worker.run(bench.stop))
    await bench.settled(key, Status.RUNNING)
    bench.stop.ask()
    await working
    run = await bench.settled(key, Status.QUEUED)
    await bench.close()
    assert (run.attempts, run.interruptions) == (0, 1)


async def test_a_result_is_kept_until_the_runs_database_takes_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    key = await bench.queue()
    bench.runs.failures = 3
    working = asyncio.create_task(bench.worker.run(bench.stop))
    run = await bench.settled(key, Status.SUCCEEDED)
    bench.stop.ask()
    await working
    output = await bench.heartbeats.output(key)
    await bench.close()
    assert (run.attempts, bench.runs.failures, output) == (1, 0, Output(b"ran\n"))


async def test_a_worker_that_cannot_renew_kills_its_commands_before_the_lease_ends(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    key = await bench.queue(
        JobSpec(schedule="yearly 01-01 00:00", command=Command(shell="sleep 331.5"))
    )
    working = asyncio.create_task(bench.worker.run(bench.stop))
    await bench.settled(key, Status.RUNNING)

    async def deaf(*_: object, **__: object) -> None:
        raise StoreUnavailable("runs.db: did not answer")

    bench.heartbeats.beat = deaf  # type: ignore[method-assign]
    async with asyncio.timeout(15):
        while not (tries := await bench.heartbeats.tries(key)):
            await asyncio.sleep(0.05)
    bench.stop.ask()
    bench.stop.ask()
    await working
    await bench.close()
    assert [(each.outcome, each.reason) for each in tries] == [
        (Outcome.LOST, "its worker could not renew its lease")
    ]
