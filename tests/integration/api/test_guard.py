"""Token, Host, Origin, sizes and types: what every request must be."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from duly.api import create_app
from duly.clock import ManualClock
from duly.errors import InvalidConfig
from duly.store import JobStore, RunStore

pytestmark = pytest.mark.anyio

JOB = {"schedule": "every 5 minutes", "command": {"shell": "true"}}
ROUTES = [
    ("GET", "/jobs"),
    ("POST", "/jobs"),
    ("POST", "/jobs/import"),
    ("GET", "/jobs/j1"),
    ("PATCH", "/jobs/j1"),
    ("DELETE", "/jobs/j1"),
    ("POST", "/jobs/j1/pause"),
    ("POST", "/jobs/j1/resume"),
    ("POST", "/jobs/j1/run"),
    ("GET", "/jobs/j1/runs"),
    ("GET", "/runs"),
    ("GET", "/runs/j1.20261024T020000Z"),
    ("GET", "/runs/j1.20261024T020000Z/output"),
    ("POST", "/runs/j1.20261024T020000Z/cancel"),
    ("GET", "/status"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    ("GET", "/nothing/here"),
    ("OPTIONS", "/jobs"),
    ("GET", "/healthz/"),
    ("GET", "//healthz"),
]


@pytest.mark.parametrize("token", ["", " ", "\n"])
async def test_there_is_no_api_without_a_token(
    jobs: JobStore, runs: RunStore, clock: ManualClock, token: str
) -> None:
    """A009"""
    with pytest.raises(InvalidConfig, match="token"):
        create_app(jobs=jobs, runs=runs, clock=clock, token=token, allowed_hosts=["localhost"])


async def test_no_file_holds_a_well_known_token() -> None:
    """A009"""
    source = Path(__file__).parents[3] / "src"
    pattern = re.compile(r"""(?i)\b(token|secret|password)\w*\s*=\s*["'][^"'{}\s]+["']""")
    found = [
        (path, line)
        for path in source.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if pattern.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_every_route_but_health_needs_the_token(
    app: FastAPI, connect: Any, method: str, path: str
) -> None:
    """A010"""
    for header in (
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic YTpi",
        "a-token-of-the-tests",
        "Bearer a-token-of-the-tests2",
        "Bearer ä",
    ):
        async with connect(app, token=None) as client:
            headers = {} if header is None else {b"Authorization": header.encode()}
            answer = await client.request(method, path, headers=headers)
        assert answer.status_code == 401, (header, answer.text)
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["content-type"] == "application/problem+json"


async def test_two_authorizations_are_none(app: FastAPI, connect: Any, token: str) -> None:
    async with connect(app, token=None) as client:
        twice = [("Authorization", f"Bearer {token}"), ("Authorization", f"Bearer {token}")]
        assert (await client.get("/jobs", headers=twice)).status_code == 401


async def test_the_scheme_is_read_without_regard_to_case(
    app: FastAPI, connect: Any, token: str
) -> None:
    async with connect(app, token=None) as client:
        headers = {"Authorization": f"bearer {token}"}
        assert (await client.get("/jobs", headers=headers)).status_code == 200


async def test_health_needs_no_token(app: FastAPI, connect: Any) -> None:
    """A010"""
    async with connect(app, token=None) as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        assert (await client.get("/readyz")).json() == {"status": "ready"}


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("localhost:7437", 200),
        ("LOCALHOST:1", 200),
        ("localhost.", 200),
        ("[::1]", 200),
        ("[::1]:7437", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.nip.io:7437", 421),
        ("[::2]", 421),
        ("", 400),
        ("localhost:", 400),
        ("localhost:x", 400),
        ("a@localhost", 400),
        ("::1", 400),
        ("localhost localhost", 400),
    ],
)
async def test_a_host_must_be_known(api: httpx.AsyncClient, host: str, status: int) -> None:
    """A011: a page that lets its own name resolve to 127.0.0.1 comes with that name as Host."""
    for path in ("/jobs", "/healthz"):
        answer = await api.get(path, headers={"Host": host})
        assert answer.status_code == status, answer.text
    if status == 421:
        assert "--allowed-host" in answer.json()["detail"]


async def test_two_hosts_are_refused(api: httpx.AsyncClient) -> None:
    twice = [("Host", "localhost"), ("Host", "localhost")]
    assert (await api.get("/jobs", headers=twice)).status_code == 400


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost", 200),
        ("http://localhost:80", 200),
        ("https://localhost", 200),
        ("http://LOCALHOST", 200),
        ("http://localhost:8080", 403),
        ("http://evil.example", 403),
        ("null", 403),
        ("", 403),
        ("file://", 403),
        ("http://localhost.evil.example", 403),
    ],
)
async def test_a_page_of_another_origin_is_refused(
    api: httpx.AsyncClient, origin: str, status: int
) -> None:
    """A011"""
    answer = await api.get("/jobs", headers={"Origin": origin})
    assert answer.status_code == status
    assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "kind",
    [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "text/plain; application/json",
        "application/jsonx",
        "application/json; charset=latin-1",
        "",
        None,
    ],
)
async def test_a_body_must_be_json_by_its_type(api: httpx.AsyncClient, kind: str | None) -> None:
    """A011: a form of a web page cannot send this type without asking first."""
    headers = {} if kind is None else {"Content-Type": kind}
    body = b'{"schedule": "every 5 minutes", "command": "x"}'
    for method, path in (("POST", "/jobs"), ("PATCH", "/jobs/j1"), ("POST", "/jobs/j1/run")):
        answer = await api.request(method, path, content=body, headers=headers)
        assert answer.status_code == 415, answer.text
    assert (await api.get("/jobs")).json() == []


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON ; charset=UTF-8"])
async def test_json_has_one_type(api: httpx.AsyncClient, kind: str) -> None:
    body = b'{"schedule": "every 5 minutes", "command": "x"}'
    answer = await api.post("/jobs", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 201


async def test_a_compressed_body_is_refused(api: httpx.AsyncClient) -> None:
    answer = await api.post("/jobs", json=JOB, headers={"Content-Encoding": "gzip"})
    assert answer.status_code == 415


async def chunks(number: int) -> AsyncIterator[bytes]:
    for _ in range(number):
        yield b" " * 65536


@pytest.mark.parametrize("number", [17, 300])
async def test_a_large_body_is_refused(api: httpx.AsyncClient, number: int) -> None:
    kind = {"Content-Type": "application/json"}
    answer = await api.post("/jobs", content=chunks(number), headers=kind)
    assert answer.status_code == 413
    answer = await api.post("/jobs", content=b" " * 65536 * number, headers=kind)
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_body_of_a_mebibyte_is_taken(api: httpx.AsyncClient) -> None:
    fill = "x" * (1024 * 1024 - 100)
    body = {"schedule": "every 5 minutes", "command": "x", "input": fill}
    assert (await api.post("/jobs", json=body)).status_code == 201


@pytest.mark.parametrize(
    "url", ["/jobs?name=%00", "/jobs/%00", "/jobs?name=%ff", "/jobs/%ed%a0%80"]
)
async def test_a_url_that_is_no_text_is_refused(api: httpx.AsyncClient, url: str) -> None:
    answer = await api.get(url)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
