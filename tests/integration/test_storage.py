"""What storage does under others' load, on both engines: area storage and rush of the cases."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from duly.backends.postgres import Database, PostgresJobStore, PostgresRunStore
from duly.backends.postgres.database import Query, load_queries
from duly.backends.sqlite import SqliteRunStore
from duly.clock import SystemClock, micros
from duly.errors import StoreUnavailable
from duly.job import Command, JobSpec
from duly.run import Outcome, PlannedRun, PlannedSlot, RunKey, Status
from duly.store import Move, NewJob, RunFilter, RunStore, Settlement
from tests.engines import borrow_database, give_back, new_url
from tests.integration.duly_up import Up, duly_up, until
from tests.integration.proxy import TransactionProxy

pytestmark = pytest.mark.anyio

IDLE_JOBS = 1_000_000
FEW_PAGES = 10


@pytest.fixture(params=["16", "18"])
async def database_url(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    url = await borrow_database(request.param)
    yield url
    await give_back(url)


def rows(count: int, due: datetime, *, first: int = 1, exclusive: bool = True) -> list[PlannedRun]:
    at = micros(due)
    return [
        PlannedRun(job_id, at, at, "default", 5, exclusive, 1)
        for job_id in range(first, first + count)
    ]


def ended(run: Any, at: datetime) -> Settlement:
    return Settlement(run, Outcome.SUCCEEDED, Status.SUCCEEDED, micros(at), micros(at))


WRITER = """
import asyncio, sys
from datetime import timedelta
from pathlib import Path
from duly.backends.sqlite import SqliteRunStore
from duly.clock import SystemClock, micros
from duly.run import Outcome, PlannedRun, Status
from duly.store import Settlement

async def main(path, number, count):
    clock = SystemClock()
    runs = SqliteRunStore(Path(path), clock)
    done = 0
    for turn in range(count):
        at = micros(clock.now())
        await runs.save([
            PlannedRun(number * 1_000_000 + turn * 10 + i, at, at, "default", 5, True, 1)
            for i in range(10)
        ])
        claim = await runs.claim(f"w{number}", ["default"], limit=20)
        now_us = clock.now_us()
        done += sum(await runs.settle([
            Settlement(r, Outcome.SUCCEEDED, Status.SUCCEEDED, now_us, now_us)
            for r in claim.runs
        ]))
    print(done)
    await runs.close()

asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""


async def test_three_processes_write_one_sqlite_file_and_nobody_is_told_that_it_is_locked(
    tmp_path: Path,
) -> None:
    """L024: each saves, claims and settles under load; no row is lost, none is settled twice."""
    path = tmp_path / "runs.db"
    runs = SqliteRunStore(path, SystemClock())
    turns = 150
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(number), str(turns)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in (1, 2, 3)
    ]
    # A reader pages through history meanwhile, as the API does.
    while any(writer.poll() is None for writer in writers):
        await runs.history(RunFilter(), limit=100)
        await asyncio.sleep(0.01)
    told = [writer.communicate(timeout=60) for writer in writers]
    assert [error for _, error in told] == ["", "", ""]
    left = (await runs.claim("rest", ["default"], limit=100_000)).runs
    assert sum(int(out) for out, _ in told) + len(left) == 3 * turns * 10
    assert len(await runs.history(RunFilter(), limit=100_000)) == 3 * turns * 10
    await runs.close()


async def test_a_long_transaction_elsewhere_does_not_slow_claims_down(database_url: str) -> None:
    """L025: it keeps dead rows from being removed; claims and polls do not walk over them."""
    runs = PostgresRunStore(Database(database_url, "runs"), local=SystemClock())
    holder = await asyncpg.connect(database_url)
    transaction = holder.transaction(isolation="repeatable_read")
    await transaction.start()
    await holder.fetchval("SELECT count(*) FROM duly.queue")
    start = datetime.now(UTC) - timedelta(seconds=30)
    try:
        pages = []
        for turn in range(60):
            slot = start + timedelta(milliseconds=turn)
            await runs.save(rows(500, slot))
            while claim := (await runs.claim("w", ["default"], limit=500)).runs:
                await runs.settle([ended(run, slot) for run in claim])
            if turn in {3, 59}:
                pages.append(await _pages_of_claim(database_url, runs))
    finally:
        await transaction.rollback()
        await holder.close()
        await runs.close()
    early, late = pages
    assert late <= max(early * 2, FEW_PAGES), f"pages read by a claim: {early}, then {late}"


async def _pages_of_claim(url: str, runs: PostgresRunStore) -> int:
    """Pages that the next look of this very store would read, and the claim after it."""
    lanes = runs._lanes
    look = await _pages(url, "runs.sql", "look", now=None, **lanes.all_of(["default"]))
    known = lanes.known(["default"])
    return look + await _pages(url, "runs.sql", "claim", worker="w", limit=100, now=None, **known)


async def _pages(url: str, file: str, name: str, **values: Any) -> int:
    """Buffers that a statement touches, as EXPLAIN (ANALYZE, BUFFERS) counts them, planning not."""
    connection = await asyncpg.connect(url, statement_cache_size=0)
    query = load_queries(file)[name]
    try:
        async with connection.transaction():
            # Catalogue pages are read once for each connection; the second time shows the poll.
            for _ in range(2):
                plan = await connection.fetch(
                    f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query.text}",
                    *[values[each] for each in query.names],
                )
    finally:
        await connection.close()
    import json

    top = json.loads(plan[0][0])[0]["Plan"]
    return int(top["Shared Hit Blocks"]) + int(top["Shared Read Blocks"])


@pytest.mark.parametrize("database_url", ["16"], indirect=True)
async def test_polls_touch_a_handful_of_pages_at_a_million_idle_jobs(database_url: str) -> None:
    """L028: the poll reads only what is due."""
    clock = SystemClock()
    jobs = PostgresJobStore(Database(database_url, "jobs", deadline_s=300), local=clock)
    runs = PostgresRunStore(Database(database_url, "runs"), local=clock)
    idle_until = clock.now() + timedelta(days=1)
    spec = JobSpec(schedule="daily 02:00", command=Command(exec=("true",)))
    await jobs.add(NewJob("ops", spec, timedelta(0), idle_until))
    await _multiply(database_url, IDLE_JOBS)
    await runs.save(rows(10_000, idle_until))
    soon = micros(clock.now() + timedelta(seconds=15))
    everything = -(1 << 63)
    assert (await runs.claim("w", ["default"], limit=10)).runs == []  # it knows its lanes now
    found = {
        "due_jobs": await _pages(
            database_url, "jobs.sql", "due_jobs", floor=everything, before=soon, limit=2000
        ),
        "look": await _pages(
            database_url, "runs.sql", "look", now=None, **runs._lanes.all_of(["default"])
        ),
        "claim": await _pages(
            database_url,
            "runs.sql",
            "claim",
            worker="w",
            limit=500,
            now=None,
            **runs._lanes.known(["default"]),
        ),
    }
    assert max(found.values()) <= FEW_PAGES, found
    # And what is due is found among the million.
    await jobs.add(NewJob("ops", spec, timedelta(0), clock.now()))
    assert [group.job_ids for group in await jobs.due(clock.now(), limit=10)] == [[IDLE_JOBS + 1]]
    await jobs.close()
    await runs.close()


async def _multiply(url: str, count: int) -> None:
    """Copies of the one job there is, until there are so many."""
    connection = await asyncpg.connect(url)
    try:
        columns = await connection.fetchval(
            "SELECT string_agg(column_name, ', ' ORDER BY ordinal_position)"
            " FROM information_schema.columns WHERE table_schema = 'duly'"
            " AND table_name = 'jobs' AND column_name <> 'id'"
        )
        await connection.execute(
            f"INSERT INTO duly.jobs ({columns}) SELECT {columns} FROM duly.jobs,"  # noqa: S608
            f" generate_series(2, {count})"
        )
        await connection.execute(
            "INSERT INTO duly.timers (job_id, next_run_at, schedule_version)"
            " SELECT id, next_run_at + id, 1 FROM duly.jobs, duly.timers"
            "  WHERE job_id = 1 AND id > 1"
        )
        await connection.execute("ANALYZE duly.jobs, duly.timers")
    finally:
        await connection.close()


async def test_claims_at_once_give_each_run_to_one_and_open_one_run_of_a_job(
    database_url: str,
) -> None:
    """The unique index refuses the second open run of a job, whoever comes from where."""
    stores = [PostgresRunStore(Database(database_url, "runs", size=1)) for _ in range(4)]
    due = datetime.now(UTC) - timedelta(seconds=1)
    for slot in range(5):
        await stores[0].save(rows(100, due + timedelta(milliseconds=slot)))
    claimed: list[Any] = []

    async def work(number: int, store: RunStore) -> None:
        empty = 0
        while empty < 3:
            claim = await store.claim(f"w{number}", ["default"], limit=7)
            claimed.extend(claim.runs)
            empty = 0 if claim.runs or claim.skipped else empty + 1

    await asyncio.gather(*(work(number, store) for number, store in enumerate(stores)))
    assert len({run.key for run in claimed}) == len(claimed) == 100
    assert len({run.job_id for run in claimed}) == 100, "one open run for each job"
    history = await stores[0].history(RunFilter(status=Status.SKIPPED), limit=1000)
    assert len(history) == 400
    assert all((run.reason or "").startswith("overlap: j") for run in history)
    for store in stores:
        await store.close()


async def test_a_plan_and_an_end_of_the_same_slot_leave_one_row(database_url: str) -> None:
    """A leader that was slow plans a slot again while its run goes into history."""
    runs = PostgresRunStore(Database(database_url, "runs", size=8))
    due = datetime.now(UTC) - timedelta(seconds=1)
    ids = list(range(1, 201))
    slot = PlannedSlot(micros(due), "default", 5, True, 1, ids, [0] * len(ids))
    await runs.save_slots([slot])

    async def replan() -> None:
        for _ in range(30):
            await runs.save_slots([slot])

    async def work() -> None:
        for _ in range(40):
            claim = (await runs.claim("w", ["default"], limit=13)).runs
            await runs.settle([ended(run, due) for run in claim])

    await asyncio.gather(replan(), replan(), work(), work())
    history = await runs.history(RunFilter(), limit=1000)
    assert sorted(run.key for run in history) == [RunKey(job_id, due) for job_id in ids]
    assert {(run.status, run.attempts) for run in history} == {(Status.SUCCEEDED, 1)}
    await runs.close()


async def test_an_advance_of_an_old_term_waits_for_the_new_one_and_moves_nothing(
    database_url: str,
) -> None:
    """The term is checked in the statement that moves, under a lock on the partition's row."""
    jobs = PostgresJobStore(Database(database_url, "jobs"))
    now = datetime.now(UTC)
    spec = JobSpec(schedule="daily 02:00", command=Command(name="x"))
    added = await jobs.add(NewJob("ops", spec, timedelta(0), now))
    old = await jobs.take_over("one")
    connection = await asyncpg.connect(database_url)
    async with connection.transaction():
        await connection.execute("UPDATE duly.partitions SET term = term + 1")
        move = Move(micros(now + timedelta(days=1)), 1, [added.job.id], [0])
        moving = asyncio.create_task(jobs.advance([move], term=old))
        await asyncio.sleep(0.3)
        assert not moving.done()
    assert await moving == 0
    await connection.close()
    await jobs.close()


async def test_a_connection_that_breaks_within_a_transaction_is_told_as_unavailable(
    database_url: str,
) -> None:
    database = Database(database_url, "runs", size=1)
    one = Query("SELECT pg_backend_pid()", ())

    async def cut_short() -> None:
        async with database.transaction() as session:
            ((pid,),) = await session.fetch(one)
            other = await asyncpg.connect(database_url)
            await other.execute(f"SELECT pg_terminate_backend({pid})")
            await other.close()
            await asyncio.sleep(0.2)
            await session.fetch(one)

    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await cut_short()
    assert await database.fetch(one)
    await database.close()


def test_behind_a_proxy_that_pools_transactions_everything_works(tmp_path: Path) -> None:
    """Each transaction may land on another server connection: nothing may outlast one."""
    url = new_url()
    with TransactionProxy(url, size=4) as proxy:
        address = f"{proxy.url}?pooling=transaction"
        with duly_up(tmp_path / "data", "--jobs-url", address) as up:
            job = up.register(command={"shell": "echo through"}, overlap="allow")
            for _ in range(5):
                up.register()
            until(lambda: _succeeded(up, job["id"]) >= 3)
            body = {"schedule": "daily 02:00", "command": "x", "name": "once"}
            again = [up.http.post("/jobs", json=body).status_code for _ in range(2)]
            assert again == [201, 200]
            up.http.patch(f"/jobs/{job['id']}", json={"priority": 1}).raise_for_status()
            up.http.post(f"/jobs/{job['id']}/pause").raise_for_status()
            assert "store_unavailable" not in up.log()
        assert proxy.switches > 20, "transactions did change their server connection"


def test_cut_connections_are_made_anew_and_runs_start_within_a_second(tmp_path: Path) -> None:
    """L026: Duly polls; there is no listening connection whose death could go unnoticed."""
    url = new_url()
    with duly_up(tmp_path / "data", "--jobs-url", url) as up:
        job = up.register(schedule="yearly 01-01 00:00")
        run = up.http.post(f"/jobs/{job['id']}/run").json()["id"]
        until(lambda: up.http.get(f"/runs/{run}").json()["status"] == "succeeded")
        for _ in range(5):
            asyncio.run(_cut(url))
            began = time.monotonic()
            answer = up.http.post(f"/jobs/{job['id']}/run")
            while answer.status_code == 503:
                assert time.monotonic() - began < 5
                answer = up.http.post(f"/jobs/{job['id']}/run")
            run = answer.raise_for_status().json()["id"]
            until(lambda run=run: up.http.get(f"/runs/{run}").json()["status"] == "succeeded")
            shown = up.http.get(f"/runs/{run}").json()
            late = _instant(shown["started"]) - _instant(shown["due"])
            assert late < timedelta(seconds=1), f"{late} after its connections were cut"


async def _cut(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'duly'"
    )
    await connection.close()


def _succeeded(up: Up, job_id: str) -> int:
    runs = up.http.get(f"/jobs/{job_id}/runs").json()
    return sum(run["status"] == "succeeded" for run in runs)


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)
