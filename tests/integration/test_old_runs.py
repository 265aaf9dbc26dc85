"""Archived history, used from outside: through the API and the command line, on both engines."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from duly.backends.postgres import Database
from duly.backends.postgres.days import make_days
from duly.history import Table
from tests.engines import new_url
from tests.integration.duly_up import duly_up, until


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_run_two_months_old_is_found_like_yesterdays(tmp_path: Path, engine: str) -> None:
    """By the same API calls and CLI commands, before and after it was archived."""
    options = ["--archive", str(tmp_path / "archive")]
    if engine == "postgres":
        options += ["--jobs-url", new_url()]
    with duly_up(tmp_path / "data", *options) as up:
        job = up.register(name="old", command={"shell": "echo said; exit 3"}, retry="never")
        until(lambda: _ended(up.http.get(f"/jobs/{job['id']}/runs").json()) >= 3)
        up.http.delete(f"/jobs/{job['id']}").raise_for_status()
        until(lambda: _open(up.http.get(f"/jobs/{job['id']}/runs").json()) == 0)
        young = up.http.get(f"/jobs/{job['id']}/runs").json()
    url = options[-1] if engine == "postgres" else None
    asyncio.run(_make_older(tmp_path / "data", url))
    assert _hot(tmp_path / "data", url) == len(young)
    with duly_up(tmp_path / "data", *options) as up:
        # Not until the first event: that may be of an older day, which has no runs.
        until(lambda: _hot(tmp_path / "data", url) == 0)
        old = up.http.get(f"/jobs/{job['id']}/runs").json()
        assert len(old) == len(young) >= 3
        assert [run["status"] for run in old] == [run["status"] for run in young]
        ages = [datetime.now(UTC) - datetime.fromisoformat(run["for"]) for run in old]
        assert min(ages) > timedelta(days=59)
        listed = up.http.get("/runs", params={"status": "dead"}).json()
        assert {run["id"] for run in listed} == {
            run["id"] for run in old if run["status"] == "dead"
        }
        dead = next(run for run in old if run["status"] == "dead")
        assert up.http.get(f"/runs/{dead['id']}").json()["tries"][0]["exit_code"] == 3
        assert up.http.get(f"/runs/{dead['id']}/output").text == "said\n"
        shown = _cli(tmp_path / "data", "runs", "show", dead["id"], "--json")
        assert json.loads(shown)["status"] == "dead"
        assert _cli(tmp_path / "data", "runs", "output", dead["id"]) == "said\n"
        assert dead["id"] in _cli(tmp_path / "data", "runs", "list", "--json", "--limit", "1000")


def _ended(runs: list[dict[str, Any]]) -> int:
    return sum(run["status"] == "dead" for run in runs)


def _open(runs: list[dict[str, Any]]) -> int:
    return sum(run["status"] in {"queued", "running"} for run in runs)


def _cli(data: Path, *arguments: str) -> str:
    environment = os.environ | {"DULY_DATA": str(data)}
    done = subprocess.run(
        [sys.executable, "-m", "duly", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def _make_older(data: Path, url: str | None) -> None:
    """Sixty days pass: all of history moves into the past."""
    past_us = 60 * 86_400_000_000
    if url is None:
        connection = sqlite3.connect(data / "runs.db")
        for table in Table:
            connection.execute(_AGE.format(table=table, past_us=past_us))
        connection.commit()
        connection.close()
        return
    today = datetime.now(UTC).date()
    database = Database(url, "runs")
    await make_days(database, [today - timedelta(days=number) for number in range(59, 63)])
    await database.close()
    connection = await asyncpg.connect(url)
    for table in Table:
        await connection.execute(_AGE.format(table=f"duly.{table}", past_us=past_us))
    await connection.close()


_AGE = "UPDATE {table} SET scheduled_for = scheduled_for - {past_us}"


def _hot(data: Path, url: str | None) -> int:
    """How much history the runs database itself holds."""
    count = "SELECT count(*) FROM {}runs"
    if url is not None:
        return int(asyncio.run(_ask(url, count.format("duly."))))
    with closing(sqlite3.connect(data / "runs.db")) as connection:
        return int(connection.execute(count.format("")).fetchone()[0])


async def _ask(url: str, query: str) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()
