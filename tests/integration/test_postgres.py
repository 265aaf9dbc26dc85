"""Duly's processes on real PostgreSQL servers: from outside, and with the servers misbehaving.

Servers that a test stops are its own and as durable as one comes; the others share those of
`tests.engines`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from duly.backends.postgres import Database, migrate
from duly.errors import UnknownSchema
from tests.engines import new_url
from tests.integration.duly_up import Up, duly_up, until
from tests.postgres import Server, new_database

own_servers_only = pytest.mark.skipif(
    "DULY_TEST_POSTGRES" in os.environ, reason="stops its server: needs one of its own"
)


def sql(url: str, statement: str) -> list[Any]:
    async def work() -> list[Any]:
        connection = await asyncpg.connect(url)
        try:
            return list(await connection.fetch(statement))
        finally:
            await connection.close()

    return asyncio.run(work())


def duly(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "duly", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | environment,
    )


def instant_of(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_jobs_and_runs_may_lie_on_two_servers(tmp_path: Path) -> None:
    jobs_url, runs_url = new_url("16"), new_url("18")
    with duly_up(tmp_path / "data", "--jobs-url", jobs_url, "--runs-url", runs_url) as up:
        job = up.register(command={"shell": "echo from $DULY_JOB_ID"}, name="two")
        until(lambda: up.http.get(f"/jobs/{job['id']}/runs").json()[-1:] != [])
        until(lambda: up.http.get(f"/jobs/{job['id']}/runs").json()[-1]["status"] == "succeeded")
        first = up.http.get(f"/jobs/{job['id']}/runs").json()[-1]
        assert up.http.get(f"/runs/{first['id']}/output").text == f"from {job['id']}\n"
        assert jobs_url in up.log()
    has = "SELECT to_regclass('duly.jobs') IS NOT NULL, to_regclass('duly.queue') IS NOT NULL"
    assert tuple(sql(jobs_url, has)[0]) == (True, False)
    assert tuple(sql(runs_url, has)[0]) == (False, True)


def test_a_role_refuses_a_schema_that_it_does_not_know_and_says_what_to_run(
    tmp_path: Path,
) -> None:
    url = new_url()
    for role in ("api", "scheduler", "worker"):
        done = duly(role, "--data", str(tmp_path), "--jobs-url", url)
        assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
        assert "has none of Duly's jobs tables" in done.stderr
        assert "run `duly migrate` with the same --jobs-url" in done.stderr
    first = duly("migrate", "--data", str(tmp_path), DULY_JOBS_URL=url)
    assert first.returncode == 0, first.stderr
    assert "went from version 0 to" in first.stdout
    again = duly("migrate", "--data", str(tmp_path), DULY_JOBS_URL=url)
    assert "is up to date at" in again.stdout
    sql(url, "UPDATE duly.schema_versions SET version = 99 WHERE part = 'runs'")
    for command in ("scheduler", "migrate", "up"):
        done = duly(command, "--data", str(tmp_path), "--jobs-url", url)
        assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
        assert "version 99 of Duly's runs tables" in done.stderr


def test_several_migrations_at_once_make_the_tables_once() -> None:
    url = new_url()

    async def at_once() -> list[tuple[int, int]]:
        return await asyncio.gather(*(migrate(url, "jobs") for _ in range(5)))

    found = [before for before, _ in asyncio.run(at_once())]
    assert found.count(0) == 1
    asyncio.run(_check(url))


async def _check(url: str) -> None:
    database = Database(url, "jobs")
    await database.check()
    runs = Database(url, "runs")
    with pytest.raises(UnknownSchema, match="duly migrate"):
        await runs.check()
    await database.close()
    await runs.close()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://host/name", "is no address of a PostgreSQL database"),
        ("postgresql://u:secret@127.0.0.1:1/name", "postgresql://u:***@127.0.0.1:1/name"),
        ("postgresql://u@127.0.0.1/name?pooling=often", "session or transaction"),
    ],
)
def test_a_url_that_cannot_be_used_is_told_in_one_line(
    tmp_path: Path, url: str, message: str
) -> None:
    done = duly("worker", "--data", str(tmp_path), "--jobs-url", url)
    assert done.returncode == 2
    assert message in done.stderr
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr


def test_no_password_shows_in_a_command_line_or_the_log(tmp_path: Path) -> None:
    url = new_url().replace("duly@", "duly:geheim@")
    if "geheim" not in url:
        pytest.skip("the server given has a user of another name")
    with duly_up(tmp_path / "data", "--jobs-url", url) as up:
        worker = up.role("worker")
        assert worker is not None
        assert "geheim" not in " ".join(worker.cmdline())
        assert "geheim" not in up.log()
        assert ":***@" in up.log()


@pytest.mark.parametrize("hours", [1, -1])
def test_a_node_whose_clock_is_an_hour_off_starts_nothing_early_and_loses_no_slot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """L006, L007: due and next both come from the database's clock and the slot."""
    wrong = tmp_path / "wrong-clock"
    wrong.mkdir()
    (wrong / "sitecustomize.py").write_text(_WRONG_CLOCK.format(seconds=hours * 3600))
    monkeypatch.setenv("PYTHONPATH", str(wrong))
    witness = tmp_path / "witness"
    witness.touch()
    with duly_up(tmp_path / "data", "--jobs-url", new_url()) as up:
        shell = f'echo "$DULY_SCHEDULED_FOR $(date +%s.%N)" >> {witness}'
        up.register(command={"shell": shell}, overlap="allow")
        until(lambda: len(witness.read_text().splitlines()) >= 4)
    starts = [line.split() for line in witness.read_text().splitlines()]
    slots = [instant_of(slot) for slot, _ in starts]
    late = [
        float(started) - slot.timestamp() for slot, (_, started) in zip(slots, starts, strict=True)
    ]
    assert min(late) >= 0
    assert max(late) < 5
    first, last = min(slots), max(slots)
    seconds = int((last - first).total_seconds())
    assert sorted(slots) == [first + timedelta(seconds=n) for n in range(seconds + 1)]


_WRONG_CLOCK = textwrap.dedent("""
    import time
    from datetime import timedelta
    import duly.clock

    right = duly.clock.SystemClock.now
    seconds = {seconds}
    duly.clock.SystemClock.now = lambda self: right(self) + timedelta(seconds=seconds)
    time_of_day = time.time
    time.time = lambda: time_of_day() + seconds
""")


@own_servers_only
def test_a_server_that_is_killed_and_restarted_loses_nothing_and_everything_resumes(
    tmp_path: Path,
) -> None:
    """L027: an immediate stop under load, twice."""
    server = Server("16").start()
    try:
        url = asyncio.run(new_database(server.url()))
        witness = tmp_path / "witness"
        witness.touch()
        with duly_up(tmp_path / "data", "--jobs-url", url) as up:
            _load_while_the_server_dies(up, server, witness)
    finally:
        server.remove()


def _load_while_the_server_dies(up: Up, server: Server, witness: Path) -> None:
    shell = 'echo "$DULY_RUN_ID $DULY_ATTEMPT" >> ' + str(witness)
    for number in range(10):
        up.register(
            name=f"beat-{number}", command={"shell": shell}, overlap="allow", missed="catch_up"
        )
    roles = {name: up.role(name) for name in ("api", "scheduler", "worker")}
    since = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1)
    with registering(up) as acknowledged:
        for down_s in (0.2, 3.0):
            time.sleep(2)
            server.stop(signal.SIGQUIT)
            time.sleep(down_s)
            server.start()
        until(lambda: _well(up), timeout_s=30)
        so_far = len(acknowledged)
        until(lambda: len(acknowledged) > so_far + 5, timeout_s=30)
    last = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=1)
    assert {name: up.role(name) for name in roles} == roles, "no role died"
    for name, job_id in acknowledged.items():
        assert up.http.get(f"/jobs/{job_id}").json()["name"] == name
    expected = 10 * (int((last - since).total_seconds()) + 1)
    runs: list[dict[str, Any]] = []

    def all_over() -> bool:
        runs[:] = [run for run in up.history(since, last) if run["job"] not in acknowledged]
        return len(runs) >= expected and {run["status"] for run in runs} == {"succeeded"}

    until(all_over, timeout_s=30, every_s=0.5)
    assert len({(run["job"], run["for"]) for run in runs}) == len(runs) == expected
    started = Counter(line.split()[0] for line in witness.read_text().splitlines())
    assert {run["id"]: started[run["id"]] for run in runs} == {run["id"]: 1 for run in runs}
    troubles = up.log().count("store_unavailable")
    assert troubles < 200, f"{troubles} attempts: somebody spins"


@contextmanager
def registering(up: Up) -> Iterator[dict[str, str]]:
    """Register one job after the other meanwhile; those that were acknowledged."""
    acknowledged: dict[str, str] = {}
    stop = threading.Event()

    def work() -> None:
        client = httpx.Client(base_url=up.http.base_url, headers=up.http.headers, timeout=30)
        number = 0
        while not stop.is_set():
            number += 1
            body = {"name": f"ack-{number}", "schedule": "yearly 01-01 00:00", "command": "x"}
            answer = client.post("/jobs", json=body)
            if answer.status_code == httpx.codes.CREATED:
                acknowledged[f"ack-{number}"] = answer.json()["id"]
            else:
                assert answer.status_code == httpx.codes.SERVICE_UNAVAILABLE, answer.text
            time.sleep(0.02)
        client.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield acknowledged
    finally:
        stop.set()
        thread.join(60)
    assert not thread.is_alive()


def _well(up: Up) -> bool:
    return up.http.get("/readyz").status_code == httpx.codes.OK


@own_servers_only
def test_a_server_that_freezes_is_noticed_by_its_deadline_and_used_again() -> None:
    """Half open: connections stand, nobody answers. Each call ends by its deadline."""
    server = Server("16").start()
    try:
        url = asyncio.run(new_database(server.url()))
        asyncio.run(_freeze(server, url))
    finally:
        server.remove()


async def _freeze(server: Server, url: str) -> None:
    from duly.backends.postgres.database import Query
    from duly.errors import StoreUnavailable

    await migrate(url, "jobs")
    database = Database(url, "jobs", size=2, deadline_s=0.5)
    one = Query("SELECT 1", ())
    assert (await database.fetch(one))[0][0] == 1
    backends = [
        int(row[0])
        for row in await database.fetch(
            Query("SELECT pid FROM pg_stat_activity WHERE application_name = 'duly'", ())
        )
    ]
    frozen = [server.pid, *backends]
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        for _ in range(3):
            with pytest.raises(StoreUnavailable, match=r"no answer within 0\.5 s"):
                await database.fetch(one)
        assert time.monotonic() - began < 5
    finally:
        for pid in reversed(frozen):
            os.kill(pid, signal.SIGCONT)
    assert (await database.fetch(one))[0][0] == 1
    await database.close()
