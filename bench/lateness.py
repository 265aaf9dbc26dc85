"""How late runs start: 200 jobs every second for a minute, on a real `duly up`.

All 200 are due at the same instant of each second, which is the worst case: the last of them waits
for the starts of the 199 before it. The second figure gives each job a jitter of one second, as a
user with many frequent jobs would. Every slot must have run once, none early.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

import httpx

from bench.harness import Figure, folder, percentile, show
from bench.server import running

JOBS = 200
SECONDS = 60
PAGE = 1000


async def measure() -> list[Figure]:
    sharp = await asyncio.to_thread(_measure, "0s")
    spread = await asyncio.to_thread(_measure, "1s")
    figures = []
    for name, lateness, faults in (("sharp", *sharp), ("jitter 1s", *spread)):
        for share, label in ((0.5, "p50"), (0.99, "p99"), (1.0, "max")):
            value = percentile(lateness, share) * 1000
            reach = "<= 50 ms" if label == "p99" else ""
            note = f"{len(lateness):,} runs; {faults}" if label == "p50" else ""
            what = f"start lateness, {JOBS} jobs every second, {name}, {label}"
            figures.append(Figure(what, value, "ms", reach=reach, note=note))
    return figures


def _measure(jitter: str) -> tuple[list[float], str]:
    with folder() as place, running(place) as (url, headers):
        http = httpx.Client(base_url=url, headers=headers, timeout=30)
        for number in range(JOBS):
            body = {
                "name": f"tick-{number}",
                "schedule": "every 1 second",
                "command": {"exec": ["/bin/true"]},
                "jitter": jitter,
                "overlap": "allow",
            }
            http.post("/jobs", json=body).raise_for_status()
        # Registration itself is a load; the minute begins when it has settled.
        since = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=3)
        until = since + timedelta(seconds=SECONDS - 1)
        time.sleep((until - datetime.now(UTC)).total_seconds() + 4)
        return _judge(_history(http, since, until))


def _history(http: httpx.Client, since: datetime, until: datetime) -> list[dict[str, object]]:
    bounds = {"since": since.isoformat(), "until": until.isoformat(), "limit": str(PAGE)}
    answer = http.get("/runs", params=bounds)
    found: list[dict[str, object]] = answer.json()
    while "next" in answer.links:
        answer = http.get(answer.links["next"]["url"])
        found += answer.json()
    return found


def _judge(runs: list[dict[str, object]]) -> tuple[list[float], str]:
    lateness = [run["lateness_s"] for run in runs]
    numbers = [value for value in lateness if isinstance(value, int | float)]
    slots = Counter((run["job"], run["for"]) for run in runs)
    missed = JOBS * SECONDS - len(slots)
    doubled = sum(count - 1 for count in slots.values())
    early = sum(value < 0 for value in numbers)
    failed = sum(run["status"] != "succeeded" or run["attempts"] != 1 for run in runs)
    faults = f"{missed} missed, {doubled} doubled, {early} early, {failed} failed"
    return numbers, faults


if __name__ == "__main__":
    show("Lateness, SQLite", asyncio.run(measure()))
