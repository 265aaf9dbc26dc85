"""The engines that the conformance suite runs against. A new engine adds one factory here.

A test asks for `jobs` or `runs` and gets a fresh store of each engine in turn, with a clock that
stands still.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from duly.backends.sqlite import SqliteJobStore, SqliteRunStore
from duly.clock import Clock, ManualClock
from duly.store import JobStore, RunStore

JOB_STORES: dict[str, Callable[[Path, Clock], JobStore]] = {
    "sqlite": lambda folder, clock: SqliteJobStore(folder / "jobs.db", clock),
}
RUN_STORES: dict[str, Callable[[Path, Clock], RunStore]] = {
    "sqlite": lambda folder, clock: SqliteRunStore(folder / "runs.db", clock),
}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 10, 24, 2, tzinfo=UTC))


@pytest.fixture(params=JOB_STORES)
async def jobs(
    request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock
) -> AsyncIterator[JobStore]:
    store = JOB_STORES[request.param](tmp_path, clock)
    yield store
    await store.close()


@pytest.fixture(params=RUN_STORES)
async def runs(
    request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock
) -> AsyncIterator[RunStore]:
    store = RUN_STORES[request.param](tmp_path, clock)
    yield store
    await store.close()
