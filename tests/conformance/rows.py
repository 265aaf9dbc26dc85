"""Rows for stores, and the claims of a worker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from duly.clock import micros
from duly.run import ClaimedRun, Outcome, PlannedRun, Status
from duly.store import Claim, RunStore, Settlement, WorkerInfo

NOW = datetime(2026, 10, 24, 2, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def planned(job_id: int = 1, slot: datetime = NOW, **changes: Any) -> PlannedRun:
    row = PlannedRun(
        job_id=job_id,
        slot_us=micros(slot),
        due_us=micros(slot),
        queue="default",
        priority=5,
        exclusive=True,
        schedule_version=1,
    )
    return row._replace(**changes)


def end(run: ClaimedRun, status: Status, outcome: Outcome, **changes: Any) -> Settlement:
    settlement = Settlement(
        run, outcome, status, finished_us=micros(NOW + MINUTE), started_us=micros(NOW)
    )
    return settlement._replace(**changes)


def info(name: str = "w1") -> WorkerInfo:
    return WorkerInfo(name, "host", 42, ("default",), 8, NOW, NOW)


async def claim(runs: RunStore, worker: str = "w1", limit: int = 10) -> Claim:
    return await runs.claim(worker, ["default"], limit=limit)


async def claim_one(runs: RunStore, worker: str = "w1") -> ClaimedRun:
    (run,) = (await claim(runs, worker, limit=1)).runs
    return run
