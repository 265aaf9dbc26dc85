"""The API over real SQLite stores, asked in-process, with a clock that stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from duly.api import create_app
from duly.backends.sqlite import SqliteJobStore, SqliteRunStore
from duly.clock import ManualClock
from duly.store import JobStore, RunStore

TOKEN = "a-token-of-the-tests"

Connect = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]
Register = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
def token() -> str:
    return TOKEN


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 10, 24, 2, tzinfo=UTC))


@pytest.fixture
async def jobs(tmp_path: Path, clock: ManualClock) -> AsyncIterator[JobStore]:
    store = SqliteJobStore(tmp_path / "jobs.db", clock)
    yield store
    await store.close()


@pytest.fixture
async def runs(tmp_path: Path, clock: ManualClock) -> AsyncIterator[RunStore]:
    store = SqliteRunStore(tmp_path / "runs.db", clock)
    yield store
    await store.close()


@pytest.fixture
def app(jobs: JobStore, runs: RunStore, clock: ManualClock) -> FastAPI:
    return create_app(
        jobs=jobs, runs=runs, clock=clock, token=TOKEN, allowed_hosts=["localhost", "::1"]
    )


@pytest.fixture
def connect() -> Connect:
    """A client of any application, with the token unless told otherwise."""

    @asynccontextmanager
    async def connect(app: FastAPI, token: str | None = TOKEN) -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers=headers
        ) as client:
            yield client

    return connect


@pytest.fixture
async def api(app: FastAPI, connect: Connect) -> AsyncIterator[httpx.AsyncClient]:
    async with connect(app) as client:
        yield client


@pytest.fixture
def register(api: httpx.AsyncClient) -> Register:
    """Register a job that differs from the plainest one in these fields; the job as answered."""

    async def register(**fields: Any) -> dict[str, Any]:
        body = {"schedule": "every 5 minutes", "command": {"shell": "true"}} | fields
        answer = await api.post("/jobs", json=body)
        assert answer.status_code == 201, answer.text
        job: dict[str, Any] = answer.json()
        return job

    return register
