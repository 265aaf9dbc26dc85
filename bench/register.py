"""Registration through the API: one job a request by 16 clients at once, and 100,000 jobs in one.

    python -m bench.register [sqlite] [postgres]

The clients speak plain HTTP over sockets: a client library would take more of the two cores than
the server does.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx

from bench import engines
from bench.harness import Figure, show, stopwatch
from bench.server import running

JOBS = 3_000
CLIENTS = 16
IMPORTED = 100_000
_CHUNK = 500


async def measure(names: Sequence[str] = ("sqlite",)) -> list[Figure]:
    figures: list[Figure] = []
    for name in names:
        async with engines.sqlite() if name == "sqlite" else engines.postgres() as engine:
            _, place, *options = engine.options
            with running(Path(place), *options) as (url, headers):
                one_by_one = await _register(httpx.URL(url), headers)
                at_once = await asyncio.to_thread(_import, url, headers)
        figures += [
            Figure(f"jobs registered by API, {CLIENTS} clients, {name}", JOBS / one_by_one, "/s"),
            Figure(f"jobs imported by API, {name}", IMPORTED / at_once, "/s"),
        ]
    return figures


def _import(url: str, headers: dict[str, str]) -> float:
    chunks = list(_lines())
    with (
        stopwatch() as watch,
        httpx.stream("POST", f"{url}/jobs/import", headers=headers, content=iter(chunks)) as answer,
    ):
        summary = [*answer.iter_lines()][-1]
    assert json.loads(summary)["created"] == IMPORTED, summary
    return watch.seconds


def _lines() -> Iterator[bytes]:
    for first in range(0, IMPORTED, _CHUNK):
        numbers = range(first, first + _CHUNK)
        yield b"".join(json.dumps(_job("import", n)).encode() + b"\n" for n in numbers)


def _job(name: str, number: int) -> dict[str, object]:
    command = {"exec": ["/bin/true"]}
    return {"name": f"{name}-{number}", "schedule": "daily 02:00", "command": command}


async def _register(url: httpx.URL, headers: dict[str, str]) -> float:
    numbers = iter(range(JOBS))

    async def client() -> None:
        reader, writer = await asyncio.open_connection(url.host, url.port)
        for number in numbers:
            writer.write(_request(url, headers, number))
            status = await _answer(reader)
            assert status == httpx.codes.CREATED, status
        writer.close()

    with stopwatch() as watch:
        await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return watch.seconds


def _request(url: httpx.URL, headers: dict[str, str], number: int) -> bytes:
    body = json.dumps(_job("job", number)).encode()
    lines = [
        "POST /jobs HTTP/1.1",
        f"Host: {url.netloc.decode()}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def _answer(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.partition("content-length:")[2].split()[0])
    await reader.readexactly(length)
    return int(head.split()[1])


if __name__ == "__main__":
    show("Registration", asyncio.run(measure(sys.argv[1:] or ["sqlite", "postgres"])))
