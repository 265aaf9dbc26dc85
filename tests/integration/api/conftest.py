"""The API over real stores of each engine, asked in-process, with a clock that stands still."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from duly.api import create_app
from duly.backends.sqlite import SqliteJobStore, SqliteRunStore
from duly.clock import ManualClock, SystemClock
from duly.store import JobStore, RunStore
from tests.engines import ENGINES, Stores

TOKEN = "a-token-of-the-tests"

Connect = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]
Register = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
def token() -> str:
    return TOKEN


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 10, 24, 2, tzinfo=UTC))


@pytest.fixture(params=["sqlite", "postgres16"])
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


class _Server(uvicorn.Server):
    """Says when it listens, so that nothing has to wait by the clock."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@pytest.fixture
def address(tmp_path: Path, token: str) -> Iterator[tuple[str, int]]:
    """Where a real HTTP server listens, for what an in-process client cannot send."""
    clock = SystemClock()
    app = create_app(
        jobs=SqliteJobStore(tmp_path / "jobs.db", clock),
        runs=SqliteRunStore(tmp_path / "runs.db", clock),
        clock=clock,
        token=token,
        allowed_hosts=["localhost", "127.0.0.1"],
    )
    listener = socket.create_server(("127.0.0.1", 0))
    server = _Server(uvicorn.Config(app, log_level="critical", lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    assert server.listening.wait(10)
    yield listener.getsockname()
    server.should_exit = True
    thread.join(10)
    assert not thread.is_alive()
