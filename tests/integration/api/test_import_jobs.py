"""POST /jobs/import: many jobs from a stream of lines, each answered for itself."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from duly.clock import ManualClock
from duly.wire.lines import MOST_BYTES, Lines
from tests.integration.api.import_lines import (
    JOB,
    JSON,
    KIND,
    ONCE,
    line,
    pieces,
    send,
    send_body,
    summary,
)

pytestmark = pytest.mark.anyio


async def test_each_line_is_a_job_answered_in_order(api: httpx.AsyncClient) -> None:
    lines = [line(name="a"), line(priority=1), line(name="c", timezone="Asia/Tokyo")]
    assert await send(api, *lines) == [
        {"line": 1, "id": "j1", "created": True},
        {"line": 2, "id": "j2", "created": True},
        {"line": 3, "id": "j3", "created": True},
        summary(created=3),
    ]
    jobs = (await api.get("/jobs")).json()
    assert [(job["name"], job["priority"], job["timezone"]) for job in jobs] == [
        ("a", 5, "UTC"),
        (None, 1, "UTC"),
        ("c", 5, "Asia/Tokyo"),
    ]


async def test_an_imported_job_is_the_one_that_would_be_registered(
    api: httpx.AsyncClient,
) -> None:
    body = JOB | {"input": {"a": [1]}, "retry": {"tries": 2}, "missed": "skip", "owner": "ops"}
    await send(api, json.dumps(body).encode())
    await api.post("/jobs", json=body)
    imported, registered = (await api.get("/jobs")).json()
    assert imported | {"id": "j2"} == registered


@pytest.mark.parametrize("body", [b"", b"\n", b" \r\n\n\t"])
async def test_a_blank_body_is_a_summary_of_nothing(api: httpx.AsyncClient, body: bytes) -> None:
    assert await send_body(api, body) == [summary()]


async def test_blank_lines_count_and_have_no_answer(api: httpx.AsyncClient) -> None:
    told = await send_body(api, b"\n" + line() + b"\r\n \t\r\n\n" + line() + b"\n\n")
    assert [each.get("line") for each in told] == [2, 5, None]
    assert told[-1] == summary(created=2)


@pytest.mark.parametrize("size", [1, 7, 4096])
async def test_lines_are_the_same_however_the_body_is_cut(
    api: httpx.AsyncClient, size: int
) -> None:
    body = b"\n".join([line(name="ü" * 9), b"", b"{", line(name="b")])
    told = await send_body(api, pieces(body, size))
    assert [(each.get("line"), "error" in each) for each in told[:-1]] == [
        (1, False),
        (3, True),
        (4, False),
    ]
    assert told[-1] == summary(created=2, failed=1)


@pytest.mark.parametrize(
    "bad",
    [
        b"\xff\xfe",
        b"{",
        b"{}",
        b"[]",
        b"null",
        b'"text"',
        b"NaN",
        b'{"a": 1} {"b": 2}',
        b'\xef\xbb\xbf{"schedule": "daily 02:00", "command": "x"}',
        b"[" * 10_000 + b"]" * 10_000,
        b'{"a":' * 500 + b"1" + b"}" * 500,
        b'{"schedule": "daily 02:00", "command": "x", "input": "\\ud800"}',
        line(priority="1"),
        line(prioritee=1),
        line(schedule="61 * * * *", timezone="Mars/Base"),
        line(schedule="at 2020-01-01T00:00"),
        line(name="n", schedule="at 2020-01-01T00:00"),
        line(ends_at="2026-10-24T02:04:59Z"),
        line(command={"exec": ["x"], "shell": "x"}),
        line(name="a\x00b", command={"shell": "\0"}),
    ],
)
async def test_a_bad_line_gets_the_problem_of_a_bad_body_and_harms_no_other(
    api: httpx.AsyncClient, bad: bytes
) -> None:
    refused = await api.post("/jobs", content=bad, headers=JSON)
    assert refused.is_client_error
    assert await send(api, line(name="a"), bad, line(name="b")) == [
        {"line": 1, "id": "j1", "created": True},
        {"line": 2, "error": refused.json()},
        {"line": 3, "id": "j2", "created": True},
        summary(created=2, failed=1),
    ]


async def test_a_key_given_twice_means_what_it_means_to_a_single_job(
    api: httpx.AsyncClient,
) -> None:
    body = b'{"name": "a", "name": "b", "schedule": "every 5 minutes", "command": "x"}'
    registered = (await api.post("/jobs", content=body, headers=JSON)).json()
    assert await send(api, body) == [
        {"line": 1, "id": registered["id"], "created": False},
        summary(existing=1),
    ]


async def test_the_same_name_and_fields_find_the_job_that_is_there(api: httpx.AsyncClient) -> None:
    lines = [line(name="a"), line(name="b")]
    await send(api, *lines)
    assert await send(api, *lines, line(name="a", schedule="every  5  MINUTES")) == [
        {"line": 1, "id": "j1", "created": False},
        {"line": 2, "id": "j2", "created": False},
        {"line": 3, "id": "j1", "created": False},
        summary(existing=3),
    ]


async def test_the_same_name_with_other_fields_is_the_conflict_of_a_single_job(
    api: httpx.AsyncClient,
) -> None:
    await api.post("/jobs", json=JOB | {"name": "a"})
    other = line(name="a", priority=1)
    refused = await api.post("/jobs", content=other, headers=JSON)
    assert (refused.status_code, refused.json()["job"]) == (409, "j1")
    conflict, after, last = await send(api, other, line(name="b"))
    assert conflict == {"line": 1, "error": refused.json()}
    assert (after["line"], after["created"]) == (2, True)
    assert last == summary(created=1, failed=1)


async def test_a_name_twice_in_one_import_is_as_in_two_requests(api: httpx.AsyncClient) -> None:
    first, same, other, last = await send(
        api, line(name="a"), line(name="a"), line(name="a", priority=1)
    )
    assert (first, same) == (
        {"line": 1, "id": "j1", "created": True},
        {"line": 2, "id": "j1", "created": False},
    )
    assert (other["error"]["status"], other["error"]["job"]) == (409, "j1")
    assert last == summary(created=1, existing=1, failed=1)
    assert len((await api.get("/jobs")).json()) == 1


async def test_lines_without_a_name_are_always_new(api: httpx.AsyncClient) -> None:
    for _ in range(2):
        assert (await send(api, line(), line()))[-1] == summary(created=2)
    assert len((await api.get("/jobs")).json()) == 4


async def test_the_name_of_a_deleted_job_is_free(api: httpx.AsyncClient) -> None:
    await send(api, line(name="a"))
    await api.delete("/jobs/j1")
    assert (await send(api, line(name="a")))[-1] == summary(created=1)


async def test_a_one_off_that_is_past_is_found_by_its_name(
    api: httpx.AsyncClient, clock: ManualClock
) -> None:
    once = json.dumps(ONCE).encode()
    assert (await send(api, once))[-1] == summary(created=1)
    clock.move(timedelta(days=1))
    other = json.dumps(ONCE | {"priority": 1}).encode()
    unknown = json.dumps(ONCE | {"name": "never"}).encode()
    found, conflict, never, last = await send(api, once, other, unknown)
    assert found == {"line": 1, "id": "j1", "created": False}
    assert (conflict["error"]["status"], conflict["error"]["job"]) == (409, "j1")
    assert never["error"]["errors"][0]["pointer"] == "/schedule"
    assert last == summary(existing=1, failed=2)


async def test_a_line_that_is_too_long_is_an_error_of_that_line(api: httpx.AsyncClient) -> None:
    empty = line(input="")
    fits = line(input="x" * (MOST_BYTES - len(empty)))
    over = line(input="x" * (MOST_BYTES - len(empty) + 1))
    huge = b"x" * 5 * 1024 * 1024
    body = b"\n".join([fits, over, huge, fits, over])
    for content in (body, pieces(body, 65536)):
        told = await send_body(api, content)
        problems = [each["error"] for each in told if "error" in each]
        assert [each["line"] for each in told if "error" in each] == [2, 3, 5]
        assert {problem["status"] for problem in problems} == {413}
        assert str(MOST_BYTES) in problems[0]["detail"]
        assert told[-1] == summary(created=2, failed=3)


def test_of_a_line_that_is_too_long_nothing_is_kept() -> None:
    lines = Lines()
    held = []
    for _ in range(100):
        assert list(lines.cut(b"x" * 65536)) == []
        held.append(len(lines._begun))
    assert max(held) <= MOST_BYTES
    assert held[-1] == 0
    assert list(lines.cut(b"\nnext\n")) == [None, b"next"]


@pytest.mark.parametrize("more", [{}, {"description": "x" * 9000}])
async def test_a_body_of_many_batches_has_no_limit(
    api: httpx.AsyncClient, more: dict[str, str]
) -> None:
    lines = [line(name=f"job-{number}", **more) for number in range(2500)]
    lines[1234] = b"{"
    told = await send_body(api, pieces(b"\n".join(lines), 65536))
    assert [each["line"] for each in told[:-1]] == list(range(1, 2501))
    assert [each["line"] for each in told if "error" in each] == [1235]
    assert told[-1] == summary(created=2499, failed=1)


@pytest.mark.parametrize(
    "kind", ["application/x-ndjson", "application/jsonl", "Application/X-NDJSON; charset=utf-8"]
)
async def test_lines_of_json_have_these_types(api: httpx.AsyncClient, kind: str) -> None:
    answer = await api.post("/jobs/import", content=line(), headers={"Content-Type": kind})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "kind", ["application/json", "text/plain", "application/x-ndjson; charset=latin-1", "", None]
)
async def test_other_types_are_refused(api: httpx.AsyncClient, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    for content in (line(), pieces(line(), 9)):
        answer = await api.post("/jobs/import", content=content, headers=headers)
        assert answer.status_code == 415
        assert "application/x-ndjson" in answer.json()["detail"]
    packed = await api.post(
        "/jobs/import", content=line(), headers=KIND | {"Content-Encoding": "gzip"}
    )
    assert packed.status_code == 415
    assert (await api.get("/jobs")).json() == []


async def test_only_the_import_takes_lines(api: httpx.AsyncClient) -> None:
    assert (await api.post("/jobs", content=line(), headers=KIND)).status_code == 415
    assert (await api.patch("/jobs/import", content=line(), headers=KIND)).status_code == 415


async def test_token_host_and_origin_are_looked_at(
    app: FastAPI, api: httpx.AsyncClient, connect: Any
) -> None:
    async with connect(app, token=None) as client:
        answer = await client.post("/jobs/import", content=line(), headers=KIND)
        assert answer.status_code == 401
    for headers, status in (({"Host": "evil.example"}, 421), ({"Origin": "http://evil"}, 403)):
        answer = await api.post("/jobs/import", content=line(), headers=KIND | headers)
        assert answer.status_code == status
    assert (await api.get("/jobs")).json() == []
