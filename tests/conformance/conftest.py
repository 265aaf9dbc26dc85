"""The stores that the conformance suite runs against: each engine of `tests.engines` in turn.

A test asks for `jobs` or `runs` and gets a fresh store, with a clock that stands still.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from duly.clock import ManualClock
from duly.store import JobStore, RunStore
from tests.engines import ENGINES, Stores


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 10, 24, 2, tzinfo=UTC))


@pytest.fixture(params=ENGINES)
async def stores(
    request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock
) -> AsyncIterator[Stores]:
    opened = await ENGINES[request.param](tmp_path, clock)
    yield opened
    await opened.remove()


@pytest.fixture
def jobs(stores: Stores) -> JobStore:
    return stores.jobs


@pytest.fixture
def runs(stores: Stores) -> RunStore:
    return stores.runs
