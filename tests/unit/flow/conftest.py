"""The plant that flow tests move by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.flow.plant import Plant


@pytest.fixture
async def plant(tmp_path: Path) -> AsyncIterator[Plant]:
    plant = await Plant(tmp_path).open()
    yield plant
    await plant.close()
