"""Lists and pages, runs, tries, output, triggers and cancels."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from duly.clock import ManualClock, instant, micros
from duly.run import Outcome, Output, PlannedRun, RunKey, Status
from duly.store import RunFilter, RunStore, Settlement

pytestmark = pytest.mark.anyio

Register = Callable[..., Awaitable[dict[str, Any]]]
JSON = {"Content-Type": "application/json"}
START = datetime(2026, 10, 24, 2, tzinfo=UTC)


def planned(job: int, slot: datetime, status: Status = Status.QUEUED) -> PlannedRun:
    return PlannedRun(job, micros(slot), micros(slot), "default", 5, False, 1, status.value)


async def pages(api: httpx.AsyncClient, url: str) -> list[dict[str, Any]]:
    """All rows, by following the links."""
    rows: list[dict[str, Any]] = []
    while True:
        answer = await api.get(url)
        assert answer.status_code == 200, answer.text
        rows += answer.json()
        if "next" not in answer.links:
            return rows
        url = answer.links["next"]["url"]
        assert url.startswith("/")


async def test_jobs_are_listed_by_page(api: httpx.AsyncClient, register: Register) -> None:
    refs = [(await register())["id"] for _ in range(7)]
    first = await api.get("/jobs?limit=3")
    assert [job["id"] for job in first.json()] == refs[:3]
    assert first.headers["link"] == '</jobs?limit=3&after=j3>; rel="next"'
    assert [job["id"] for job in await pages(api, "/jobs?limit=3")] == refs
    exact = await api.get("/jobs?limit=7")
    assert "link" not in exact.headers


async def test_jobs_are_filtered_and_paged_by_the_same_key(
    api: httpx.AsyncClient, register: Register
) -> None:
    """A008"""
    for at in range(12):
        await register(name=f"n{at}", queue="ab"[at % 2], owner="a b&c", source=f"s{at % 3}")
    names = [job["name"] for job in await pages(api, "/jobs?queue=b&owner=a%20b%26c&limit=2")]
    assert names == ["n1", "n3", "n5", "n7", "n9", "n11"]
    assert [j["name"] for j in await pages(api, "/jobs?source=s2&queue=a&limit=1")] == ["n2", "n8"]
    assert [j["name"] for j in (await api.get("/jobs?name=n4")).json()] == ["n4"]
    await api.post("/jobs/j3/pause")
    assert [j["id"] for j in (await api.get("/jobs?state=paused")).json()] == ["j3"]


async def test_history_is_paged_while_runs_arrive(
    api: httpx.AsyncClient, register: Register, runs: RunStore
) -> None:
    """A007: a thousand runs arrive meanwhile; no row twice, none missing."""
    for _ in range(3):
        await register()
    old = [planned(1 + at % 3, START - timedelta(minutes=at // 3)) for at in range(300)]
    await runs.save(old)
    expected = [str(RunKey(row.job_id, instant(row.slot_us))) for row in old]
    seen: list[str] = []
    url = "/runs?limit=17"
    arrived = 0
    while True:
        answer = await api.get(url)
        seen += [run["id"] for run in answer.json()]
        new = [
            planned(1 + at % 3, START + timedelta(seconds=1 + at))
            for at in range(arrived, arrived + 60)
        ]
        arrived += await runs.save(new)
        if "next" not in answer.links:
            break
        url = answer.links["next"]["url"]
    assert arrived >= 1000
    assert len(seen) == len(set(seen))
    assert set(seen) == set(expected)
    assert seen == sorted(seen, key=lambda ref: (ref.split(".", 1)[1], ref), reverse=True)


async def test_history_is_filtered_and_paged_by_the_same_key(
    api: httpx.AsyncClient, register: Register, runs: RunStore
) -> None:
    """A008"""
    await register()
    await register()
    statuses = [Status.QUEUED, Status.SKIPPED, Status.DEAD]
    await runs.save(
        [planned(1 + at % 2, START + timedelta(minutes=at), statuses[at % 3]) for at in range(60)]
    )
    dead = await pages(api, "/runs?status=dead&limit=3")
    assert [run["for"] for run in dead] == [
        f"2026-10-24T02:{minute:02}:00Z" for minute in range(59, 0, -3)
    ]
    bounded = await pages(
        api, "/jobs/j1/runs?since=2026-10-24T02:10:00Z&until=2026-10-24T04:20:00%2B02:00&limit=2"
    )
    assert [run["for"][14:16] for run in bounded] == ["20", "18", "16", "14", "12", "10"]
    assert {run["job"] for run in bounded} == {"j1"}
    skipped = await pages(api, "/jobs/j2/runs?status=skipped&limit=4")
    assert len(skipped) == 10
    assert await pages(api, "/runs?limit=7") == await pages(api, "/runs?limit=1000")


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=x", "limit"),
        ("limit=", "limit"),
        ("limit=1&limit=2", None),
        ("after=7", "after"),
        ("status=lost", "status"),
        ("state=active", "state"),
        ("since=yesterday", "since"),
        ("since=2026-10-24T02:00:00", "since"),
        ("since=2026-10-24T02:00:00+02:00", "since"),
        ("until=9999-12-31T23:59:59-12:00", "until"),
    ],
)
async def test_a_parameter_that_is_wrong_is_told(
    api: httpx.AsyncClient, query: str, parameter: str | None
) -> None:
    answer = await api.get(f"/runs?{query}")
    assert answer.status_code == 422, answer.text
    problem = answer.json()
    assert problem["type"] == "urn:duly:problem:invalid-parameter"
    if parameter is not None:
        assert [each["parameter"] for each in problem["errors"]] == [parameter]


async def test_a_job_is_run_by_hand(
    api: httpx.AsyncClient, register: Register, clock: ManualClock
) -> None:
    ref = (await register())["id"]
    clock.move(timedelta(microseconds=500_000))
    answer = await api.post(f"/jobs/{ref}/run")
    assert answer.status_code == 202
    run = answer.json()
    assert run == {
        "id": f"{ref}.20261024T020000.5Z",
        "job": ref,
        "for": "2026-10-24T02:00:00.5Z",
        "due": "2026-10-24T02:00:00.5Z",
        "status": "queued",
        "attempts": 0,
        "worker": None,
        "queued": "2026-10-24T02:00:00.5Z",
        "started": None,
        "finished": None,
        "lateness_s": None,
        "exit_code": None,
        "signal": None,
        "reason": None,
        "manual": True,
        "interruptions": 0,
        "slots": 1,
        "last_slot": None,
    }
    assert answer.headers["location"] == f"/runs/{run['id']}"
    assert (await api.get(answer.headers["location"])).json() == run | {"tries": []}
    assert (await api.get(f"/jobs/{ref}/runs")).json() == [run]


async def test_two_triggers_at_once_are_two_runs(
    api: httpx.AsyncClient, register: Register
) -> None:
    ref = (await register())["id"]
    answers = await asyncio.gather(*(api.post(f"/jobs/{ref}/run") for _ in range(20)))
    assert len({answer.json()["id"] for answer in answers}) == 20
    assert len((await api.get("/runs")).json()) == 20


async def test_a_paused_job_can_be_run_by_hand(api: httpx.AsyncClient, register: Register) -> None:
    ref = (await register())["id"]
    await api.post(f"/jobs/{ref}/pause")
    assert (await api.post(f"/jobs/{ref}/run", json={})).status_code == 202


@pytest.mark.parametrize(
    "body", ['{"command": "x"}', '{"queue": "other"}', '{"input": 1}', "[]", "null", "0", '"text"']
)
@pytest.mark.parametrize("verb", ["run", "pause", "resume"])
async def test_a_trigger_carries_nothing(
    api: httpx.AsyncClient, register: Register, verb: str, body: str
) -> None:
    """A012"""
    ref = (await register())["id"]
    answer = await api.post(f"/jobs/{ref}/{verb}", content=body, headers=JSON)
    assert answer.status_code == 422
    assert "takes no fields" in answer.json()["detail"]
    assert (await api.get("/runs")).json() == []
    assert (await api.get(f"/jobs/{ref}")).json()["state"] == "active"


async def test_a_run_with_its_tries_and_output(
    api: httpx.AsyncClient, register: Register, runs: RunStore, clock: ManualClock
) -> None:
    ref = (await register())["id"]
    url = (await api.post(f"/jobs/{ref}/run")).headers["location"]
    assert (await api.get(f"{url}/output")).status_code == 204
    clock.move(timedelta(seconds=2))
    (first,) = (await runs.claim("w1", ["default"], limit=1)).runs
    running = (await api.get(url)).json()
    assert (running["status"], running["worker"], running["lateness_s"]) == ("running", "w1", 2.0)
    await runs.settle(
        [
            Settlement(
                first,
                Outcome.FAILED,
                Status.QUEUED,
                finished_us=clock.now_us(),
                started_us=clock.now_us(),
                due_us=micros(clock.now() + timedelta(minutes=1)),
                exit_code=3,
                reason="exit status 3",
                output=Output(b"first\n"),
            )
        ]
    )
    waiting = (await api.get(url)).json()
    assert (waiting["status"], waiting["finished"], waiting["lateness_s"]) == ("queued", None, None)
    assert waiting["tries"] == [
        {
            "attempt": 1,
            "outcome": "failed",
            "worker": "w1",
            "started": "2026-10-24T02:00:02Z",
            "finished": "2026-10-24T02:00:02Z",
            "exit_code": 3,
            "signal": None,
            "reason": "exit status 3",
        }
    ]
    clock.move(timedelta(minutes=1))
    (second,) = (await runs.claim("w1", ["default"], limit=1)).runs
    await runs.settle(
        [
            Settlement(
                second,
                Outcome.SUCCEEDED,
                Status.SUCCEEDED,
                finished_us=clock.now_us(),
                started_us=clock.now_us(),
                exit_code=0,
                output=Output(b"\xff\0head", b"tail", 7),
            )
        ]
    )
    ended = (await api.get(url)).json()
    assert (ended["status"], ended["exit_code"], ended["attempts"]) == ("succeeded", 0, 2)
    assert ended["finished"] == "2026-10-24T02:01:02Z"
    last = await api.get(f"{url}/output")
    assert last.content == b"\xff\0head\n[... 7 bytes not kept ...]\ntail"
    assert last.headers["content-type"] == "text/plain; charset=utf-8"
    assert last.headers["x-content-type-options"] == "nosniff"
    assert last.headers["x-duly-dropped-bytes"] == "7"
    assert (await api.get(f"{url}/output?attempt=1")).content == b"first\n"
    assert (await api.get(f"{url}/output?attempt=3")).status_code == 404
    assert (await api.get(f"{url}/output?attempt=0")).status_code == 422


async def test_a_queued_run_is_canceled_and_no_other(
    api: httpx.AsyncClient, register: Register, runs: RunStore
) -> None:
    ref = (await register())["id"]
    url = (await api.post(f"/jobs/{ref}/run")).headers["location"]
    answer = await api.post(f"{url}/cancel")
    assert (answer.status_code, answer.json()["status"]) == (200, "canceled")
    assert answer.json()["finished"] is not None
    again = await api.post(f"{url}/cancel")
    assert again.status_code == 409
    assert again.json()["type"] == "urn:duly:problem:not-queued"
    url = (await api.post(f"/jobs/{ref}/run")).headers["location"]
    assert len((await runs.claim("w", ["default"], limit=5, now=START + timedelta(1))).runs) == 1
    assert (await api.post(f"{url}/cancel")).status_code == 409
    assert (await runs.history(RunFilter(status=Status.RUNNING)))[0].status is Status.RUNNING


@pytest.mark.parametrize(
    "ref", ["j1.20261024T020000Z", "j1", "x", "j1.20261399T020000Z", "j1.00000000T000000Z"]
)
async def test_a_run_that_is_not_there_is_a_404(api: httpx.AsyncClient, ref: str) -> None:
    answers = [
        await api.get(f"/runs/{ref}"),
        await api.get(f"/runs/{ref}/output"),
        await api.post(f"/runs/{ref}/cancel"),
    ]
    assert [each.status_code for each in answers] == [404] * 3
    assert {each.json()["type"] for each in answers} == {"urn:duly:problem:no-such-run"}
