"""The plant that flow tests move by hand, on each engine in turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from duly.clock import ManualClock
from tests.engines import ENGINES
from tests.unit.flow.plant import START, Plant


@pytest.fixture(params=["sqlite", "postgres16", "postgres16+18"])
async def plant(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Plant]:
    clock = ManualClock(START)
    stores = await ENGINES[request.param](tmp_path, clock)
    yield Plant(stores.jobs, stores.runs, clock, term=await stores.jobs.take_over("test"))
    await stores.remove()
