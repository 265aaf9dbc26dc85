"""Registration through the API: one job a request, 16 clients at once."""

from __future__ import annotations

import asyncio

import httpx

from bench.harness import Figure, folder, show, stopwatch
from bench.server import running

JOBS = 3_000
CLIENTS = 16


async def measure() -> list[Figure]:
    with folder() as place, running(place) as (url, headers):
        seconds = await _register(url, headers)
    return [Figure(f"jobs registered by API, {CLIENTS} clients", JOBS / seconds, "/s")]


async def _register(url: str, headers: dict[str, str]) -> float:
    numbers = iter(range(JOBS))

    async def client(http: httpx.AsyncClient) -> None:
        for number in numbers:
            body = {
                "name": f"job-{number}",
                "schedule": "daily 02:00",
                "command": {"exec": ["/bin/true"]},
            }
            answer = await http.post("/jobs", json=body)
            answer.raise_for_status()

    limits = httpx.Limits(max_connections=CLIENTS)
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=30, limits=limits) as http:
        with stopwatch() as watch:
            await asyncio.gather(*(client(http) for _ in range(CLIENTS)))
    return watch.seconds


if __name__ == "__main__":
    show("Registration, SQLite", asyncio.run(measure()))
