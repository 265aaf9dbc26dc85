"""POST /jobs/import with what breaks it off, and with others that import the same meanwhile."""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from duly.api import create_app
from duly.backends.sqlite import SqliteJobStore, SqliteRunStore
from duly.clock import SystemClock
from tests.integration.api.import_lines import KIND, line, named, send, send_body, summary

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
async def test_a_database_that_fails_in_the_middle_ends_the_answer_without_a_summary(
    api: httpx.AsyncClient, tmp_path: Path
) -> None:
    def rename(before: str, after: str) -> None:
        with sqlite3.connect(tmp_path / "jobs.db") as database:
            database.execute(f"ALTER TABLE {before} RENAME TO {after}")
        database.close()

    async def first_batch() -> None:
        # The next one is read while it is registered.
        while len((await api.get("/jobs?limit=1000")).json()) < 1000:
            await asyncio.sleep(0.01)

    lines = named(1500)

    async def body() -> AsyncIterator[bytes]:
        yield b"\n".join(lines[:1000]) + b"\n"
        await first_batch()
        rename("jobs", "gone")
        yield b"\n".join(lines[1000:])

    told = await send_body(api, body())
    assert [each.get("line") for each in told] == [*range(1, 1001), None]
    problem = told[-1]["error"]
    assert (problem["status"], problem["type"]) == (503, "urn:duly:problem:store-unavailable")
    assert "gone" not in json.dumps(problem)
    assert "not made twice" in problem["detail"]
    rename("gone", "jobs")
    again = await send(api, *lines)
    assert again[-1] == summary(created=500, existing=1000)


async def test_a_client_that_goes_away_leaves_whole_batches_and_no_error(
    app: FastAPI, api: httpx.AsyncClient, token: str
) -> None:
    sent: list[dict[str, Any]] = []
    messages: Iterator[dict[str, Any]] = iter(
        [
            {"type": "http.request", "body": b"\n".join(named(1001)), "more_body": True},
            {"type": "http.disconnect"},
        ]
    )

    async def receive() -> dict[str, Any]:
        return next(messages)

    async def take(message: Any) -> None:
        sent.append(message)

    names = {"host": "localhost", "authorization": f"Bearer {token}", "transfer-encoding": "x"}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/jobs/import",
        "query_string": b"",
        "headers": [
            (name.encode(), value.encode())
            for name, value in (names | {"content-type": KIND["Content-Type"]}).items()
        ],
    }
    await app(scope, receive, take)
    assert sent[0]["status"] == 200
    assert all(message["more_body"] for message in sent[1:])
    assert len((await api.get("/jobs?limit=1000")).json()) == 1000
    assert (await send(api, line(name="job-1000")))[-1] == summary(created=1)


async def import_at_once(clients: Iterable[httpx.AsyncClient]) -> None:
    """The same lines through each client twice at the same time, once backwards.

    Backwards within each batch: both ways meet in the same names, the worst that can be asked of
    a database that locks them one by one.
    """
    lines = named(3000)
    backwards = [n for start in (0, 1000, 2000) for n in range(start + 999, start - 1, -1)]
    orders = [list(range(3000)), backwards]
    asked = [(api, order) for api in clients for order in orders]
    answers = await asyncio.gather(
        *(send(api, *(lines[number] for number in order)) for api, order in asked)
    )
    made = [told[-1]["created"] for told in answers]
    assert [told[-1] for told in answers] == [summary(count, 3000 - count) for count in made]
    assert sum(made) == 3000
    found = [
        {number: told["id"] for number, told in zip(order, answer[:-1], strict=True)}
        for (_, order), answer in zip(asked, answers, strict=True)
    ]
    assert len(set(found[0].values())) == 3000
    assert found == [found[0]] * len(found)


async def test_concurrent_imports_of_the_same_lines_make_each_job_once(
    api: httpx.AsyncClient,
) -> None:
    await import_at_once([api, api])


async def test_imports_by_several_processes_make_each_job_once(
    tmp_path: Path, token: str, connect: Any
) -> None:
    clock = SystemClock()
    # As two processes they share nothing but the files.
    apps = [
        create_app(
            jobs=SqliteJobStore(tmp_path / "jobs.db", clock),
            runs=SqliteRunStore(tmp_path / "runs.db", clock),
            clock=clock,
            token=token,
            allowed_hosts=["localhost"],
        )
        for _ in range(2)
    ]
    async with connect(apps[0]) as one, connect(apps[1]) as other:
        await import_at_once([one, other])
    for app in apps:
        await app.state.site.jobs.close()
        await app.state.site.runs.close()


def test_answers_arrive_while_lines_are_still_sent(address: tuple[str, int], token: str) -> None:
    head = [
        "POST /jobs/import HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {token}",
        "Content-Type: application/x-ndjson",
        "Transfer-Encoding: chunked",
        "Connection: close",
        "Expect: 100-continue",
    ]

    def chunk(data: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(data), data)

    with socket.create_connection(address, timeout=10) as connection:
        answer = connection.makefile("rb")
        connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n")
        assert answer.readline() == b"HTTP/1.1 100 Continue\r\n"
        connection.sendall(chunk(b"\n".join(named(1000)) + b"\n"))
        while (told := answer.readline()) != b'{"line":1000,"id":"j1000","created":true}\n':
            assert told, "the server ended its answer before the body's end"
        connection.sendall(chunk(line(name="last")) + chunk(b"\n") + b"0\r\n\r\n")
        rest = answer.read()
    assert b'{"line":1001,"id":"j1001","created":true}\n' in rest
    assert b'{"lines":1001,"created":1001,"existing":0,"failed":0}\n' in rest


def test_a_client_that_hangs_up_leaves_the_server_working(
    address: tuple[str, int], token: str
) -> None:
    base = f"http://127.0.0.1:{address[1]}"
    headers = {"Authorization": f"Bearer {token}"}

    def torn() -> Iterable[bytes]:
        yield b"\n".join(named(1000)) + b"\n"
        raise ConnectionAbortedError

    with httpx.Client(base_url=base, headers=headers, trust_env=False) as client:
        with pytest.raises(ConnectionAbortedError):
            client.post("/jobs/import", content=torn(), headers=KIND)
        answer = client.post("/jobs/import", content=b"\n".join(named(1001)), headers=KIND)
    last = json.loads(answer.text.splitlines()[-1])
    assert (last["lines"], last["failed"]) == (1001, 0)
