"""PostgreSQL is killed in the middle of a rush. `python -m bench.crash` does it with a million."""

from __future__ import annotations

import asyncio

from bench import crash
from tests.integration.test_postgres import own_servers_only

DUE = 20_000


@own_servers_only
def test_a_server_that_is_killed_in_the_middle_of_a_rush_loses_nothing() -> None:
    """L027 with a full queue: while it is filled, and twice while it is worked off."""
    verdict = asyncio.run(crash.rush(DUE, ahead_s=8, settings={}))
    assert not any(verdict.faults.values()), verdict
    assert verdict.acknowledged > DUE / 2
    assert verdict.registered > 0
