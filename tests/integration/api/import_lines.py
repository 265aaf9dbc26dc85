"""Lines for POST /jobs/import, and what it answers to them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx

KIND = {"Content-Type": "application/x-ndjson"}
JSON = {"Content-Type": "application/json"}
JOB = {"schedule": "every 5 minutes", "command": {"shell": "make report"}}
ONCE = JOB | {"name": "once", "schedule": "at 2026-10-24T03:00"}


def line(**fields: Any) -> bytes:
    return json.dumps(JOB | fields).encode()


def named(count: int) -> list[bytes]:
    return [line(name=f"job-{number}") for number in range(count)]


async def send(api: httpx.AsyncClient, *lines: bytes) -> list[dict[str, Any]]:
    """Import these lines; the lines of the answer, the summary at the end."""
    return await send_body(api, b"\n".join(lines))


async def send_body(
    api: httpx.AsyncClient, body: bytes | AsyncIterator[bytes]
) -> list[dict[str, Any]]:
    answer = await api.post("/jobs/import", content=body, headers=KIND)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.text.endswith("\n")
    return [json.loads(each) for each in answer.text.splitlines()]


async def pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def summary(created: int = 0, existing: int = 0, failed: int = 0) -> dict[str, int]:
    return {
        "lines": created + existing + failed,
        "created": created,
        "existing": existing,
        "failed": failed,
    }
