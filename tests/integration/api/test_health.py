"""Health, status, and how refusals and failures are told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from duly import __version__
from duly.api import create_app
from duly.backends.sqlite import SqliteJobStore, SqliteRunStore
from duly.clock import ManualClock
from duly.errors import StoreUnavailable
from duly.store import JobStore, RunStore, WorkerInfo

pytestmark = pytest.mark.anyio

Register = Callable[..., Awaitable[dict[str, Any]]]


async def unavailable(*_args: Any, **_kwargs: Any) -> Any:
    raise StoreUnavailable("/srv/secret/path.db: disk I/O error")


async def test_status_tells_the_whole_at_a_glance(
    api: httpx.AsyncClient, register: Register, jobs: JobStore, runs: RunStore, clock: ManualClock
) -> None:
    for _ in range(3):
        await register()
    await api.post("/jobs/j2/pause")
    await api.delete("/jobs/j3")
    await api.post("/jobs/j1/run")
    await jobs.take_over("test")
    await runs.beat(WorkerInfo("w1", "host", 7, ("default", "heavy"), 16, clock.now(), clock.now()))
    clock.move(timedelta(seconds=3))
    assert (await api.get("/status")).json() == {
        "jobs": {"active": 1, "paused": 1, "ended": 0, "deleted": 1},
        "runs": {"queued": 1, "running": 0, "dead": 0},
        "claimable": 1,
        "oldest_waiting_s": 3.0,
        "workers": [
            {
                "id": "w1",
                "host": "host",
                "pid": 7,
                "queues": ["default", "heavy"],
                "concurrency": 16,
                "started": "2026-10-24T02:00:00Z",
                "beat": "2026-10-24T02:00:00Z",
                "silent_s": 3.0,
            }
        ],
        "term": 1,
        "now": "2026-10-24T02:00:03Z",
        "version": __version__,
    }


async def test_an_empty_server_has_a_status(api: httpx.AsyncClient) -> None:
    status = (await api.get("/status")).json()
    assert (status["oldest_waiting_s"], status["workers"], status["term"]) == (None, [], 0)


@pytest.mark.parametrize("broken", ["jobs", "runs"])
async def test_readiness_names_the_database_that_is_silent(
    api: httpx.AsyncClient,
    jobs: JobStore,
    runs: RunStore,
    monkeypatch: pytest.MonkeyPatch,
    broken: str,
) -> None:
    verb = {"jobs": (jobs, "current_term"), "runs": (runs, "workers")}[broken]
    monkeypatch.setattr(*verb, unavailable)
    answer = await api.get("/readyz")
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["retry-after"] == "1"
    assert answer.json()["detail"] == f"no answer from the database of {broken}"
    assert (await api.get("/healthz")).status_code == 200


async def test_a_database_that_is_silent_is_a_503_without_its_path(
    api: httpx.AsyncClient, jobs: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "browse", unavailable)
    answer = await api.get("/jobs")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"
    assert answer.json()["type"] == "urn:duly:problem:store-unavailable"
    assert "secret" not in answer.text


async def test_a_bug_is_answered_without_a_word_about_it(
    app: FastAPI,
    api: httpx.AsyncClient,
    jobs: JobStore,
    monkeypatch: pytest.MonkeyPatch,
    token: str,
) -> None:
    async def bug(*_args: Any, **_kwargs: Any) -> Any:
        raise ZeroDivisionError("the secret of the bug")

    monkeypatch.setattr(jobs, "browse", bug)
    answer = await api.get("/jobs")
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as server:
        with pytest.raises(ZeroDivisionError):
            await server.get("/jobs", headers={"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("path", ["/", "/nothing", "/jobs/", "/jobs/j1/nothing", "/docs", "/redoc"])
async def test_a_route_that_is_not_there_is_a_problem(api: httpx.AsyncClient, path: str) -> None:
    answer = await api.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == 404


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/jobs", "GET, POST"),
        ("PUT", "/jobs/j1", "DELETE, GET, PATCH"),
        ("GET", "/jobs/j1/run", "POST"),
        ("DELETE", "/runs", "GET"),
        ("POST", "/healthz", "GET"),
        ("POST", "/openapi.json", "GET, HEAD"),
    ],
)
async def test_a_method_that_is_not_taken_is_told_with_those_that_are(
    api: httpx.AsyncClient, method: str, path: str, allow: str
) -> None:
    answer = await api.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["allow"] == allow


async def test_the_application_closes_its_stores_when_it_ends(
    tmp_path: Path, clock: ManualClock, token: str
) -> None:
    app = create_app(
        jobs=SqliteJobStore(tmp_path / "jobs.db", clock),
        runs=SqliteRunStore(tmp_path / "runs.db", clock),
        clock=clock,
        token=token,
        allowed_hosts=["localhost"],
    )
    async with app.router.lifespan_context(app):
        assert (tmp_path / "jobs.db-wal").exists()
    assert not (tmp_path / "jobs.db-wal").exists()
    assert not (tmp_path / "runs.db-wal").exists()
