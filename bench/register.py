"""Registration through the API: one job a request, 16 clients at once.

The clients speak plain HTTP over sockets: a client library would take more of the two cores than
the server does.
"""

from __future__ import annotations

import asyncio
import json

import httpx

from bench.harness import Figure, folder, show, stopwatch
from bench.server import running

JOBS = 3_000
CLIENTS = 16


async def measure() -> list[Figure]:
    with folder() as place, running(place) as (url, headers):
        seconds = await _register(httpx.URL(url), headers)
    return [Figure(f"jobs registered by API, {CLIENTS} clients", JOBS / seconds, "/s")]


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
    job = {
        "name": f"job-{number}",
        "schedule": "daily 02:00",
        "command": {"exec": ["/bin/true"]},
    }
    body = json.dumps(job).encode()
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
    show("Registration, SQLite", asyncio.run(measure()))
