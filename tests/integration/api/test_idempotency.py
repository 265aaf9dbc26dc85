"""Idempotency-Key."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from duly.api import create_app
from duly.clock import ManualClock
from duly.errors import StoreUnavailable
from duly.store import JobStore, RunFilter, RunStore
from tests.engines import Stores

pytestmark = pytest.mark.anyio

Register = Callable[..., Awaitable[dict[str, Any]]]
JOB = {"schedule": "every 5 minutes", "command": {"shell": "true"}}
KEY = {"Idempotency-Key": "8e03978e-40d5-43dd-bc93-6894a57f9324"}


async def test_a_request_sent_again_gets_the_first_answer(
    api: httpx.AsyncClient, clock: ManualClock
) -> None:
    first = await api.post("/jobs", json=JOB, headers=KEY)
    await api.patch(f"/jobs/{first.json()['id']}", json={"priority": 1})
    respelled = b'{ "command": {"shell": "true"},\n "schedule": "every 5 minutes" }'
    again = await api.post(
        "/jobs", content=respelled, headers=KEY | {"Content-Type": "application/json"}
    )
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["location"] == first.headers["location"]
    assert len((await api.get("/jobs")).json()) == 1


async def test_two_hundred_at_once_make_one_job(api: httpx.AsyncClient) -> None:
    """A001"""
    answers = await asyncio.gather(*(api.post("/jobs", json=JOB, headers=KEY) for _ in range(200)))
    made = [a for a in answers if a.status_code == 201]
    waiting = [a for a in answers if a.status_code == 409]
    assert len(made) + len(waiting) == 200
    assert made
    assert {a.json()["id"] for a in made} == {"j1"}
    assert {a.json()["type"] for a in waiting} <= {"urn:duly:problem:idempotency-in-progress"}
    assert all("retry-after" in a.headers for a in waiting)
    assert (await api.post("/jobs", json=JOB, headers=KEY)).json() == made[0].json()
    assert [job["id"] for job in (await api.get("/jobs")).json()] == ["j1"]


async def test_two_processes_at_once_make_one_job(
    app: FastAPI, connect: Any, stores: Stores, clock: ManualClock, token: str
) -> None:
    """A001: the transaction decides between processes that cannot see each other's requests."""
    other_jobs, other_runs = stores.again()
    other = create_app(
        jobs=other_jobs, runs=other_runs, clock=clock, token=token, allowed_hosts=["localhost"]
    )
    async with connect(app) as one, connect(other) as two:
        for at in range(30):
            headers = {"Idempotency-Key": f"k{at}"}
            first, second = await asyncio.gather(
                one.post("/jobs", json=JOB, headers=headers),
                two.post("/jobs", json=JOB, headers=headers),
            )
            assert (first.status_code, second.status_code) == (201, 201)
            assert first.content == second.content
            replayed = [a.headers.get("idempotency-replayed") for a in (first, second)]
            assert sorted(replayed, key=str) == [None, "true"]
        assert len((await one.get("/jobs")).json()) == 30
    await other_jobs.close()
    await other_runs.close()


async def test_another_body_under_the_key_is_refused(api: httpx.AsyncClient) -> None:
    """A002"""
    await api.post("/jobs", json=JOB, headers=KEY)
    answer = await api.post("/jobs", json=JOB | {"priority": 1}, headers=KEY)
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:duly:problem:idempotency-key-reused"
    assert len((await api.get("/jobs")).json()) == 1


async def test_another_body_meanwhile_is_refused_too(api: httpx.AsyncClient) -> None:
    """A002"""
    answers = await asyncio.gather(
        api.post("/jobs", json=JOB, headers=KEY),
        api.post("/jobs", json=JOB | {"priority": 1}, headers=KEY),
    )
    assert sorted(a.status_code for a in answers) == [201, 422]
    assert len((await api.get("/jobs")).json()) == 1


async def test_a_key_has_its_own_space_per_route(
    api: httpx.AsyncClient, register: Register
) -> None:
    """A003"""
    one, two = (await register())["id"], (await register())["id"]
    paths = [f"/jobs/{ref}/{verb}" for ref in (one, two) for verb in ("run", "pause", "resume")]
    for path in paths:
        answer = await api.post(path, headers=KEY)
        assert answer.is_success
        assert "idempotency-replayed" not in answer.headers, path
    for path in paths:
        assert (await api.post(path, headers=KEY)).headers["idempotency-replayed"] == "true"


async def test_a_key_has_its_own_space_per_team(
    app: FastAPI, jobs: JobStore, runs: RunStore, clock: ManualClock, connect: Any, token: str
) -> None:
    """A003"""
    other = create_app(
        jobs=jobs, runs=runs, clock=clock, token=token, allowed_hosts=["localhost"], team="other"
    )
    async with connect(app) as mine, connect(other) as theirs:
        first = await mine.post("/jobs", json=JOB, headers=KEY)
        second = await theirs.post("/jobs", json=JOB, headers=KEY)
        assert "idempotency-replayed" not in second.headers
        assert first.json()["id"] != second.json()["id"]
        assert (await theirs.get(first.headers["location"])).status_code == 404


async def test_the_header_twice_is_refused(api: httpx.AsyncClient) -> None:
    """A004"""
    twice = [("Idempotency-Key", "a"), ("Idempotency-Key", "a")]
    answer = await api.post("/jobs", json=JOB, headers=twice)
    assert answer.status_code == 400
    assert (
        await api.post("/jobs", json=JOB, headers={"Idempotency-Key": "a, a"})
    ).status_code == 400
    assert (await api.get("/jobs")).json() == []


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 256, "käse".encode(), b"a\xff"])
async def test_a_key_that_is_none_is_refused(api: httpx.AsyncClient, key: str | bytes) -> None:
    raw = key.encode() if isinstance(key, str) else key
    answer = await api.post("/jobs", json=JOB, headers=[(b"Idempotency-Key", raw)])
    assert answer.status_code == 400, answer.text
    assert "Idempotency-Key" in answer.json()["detail"]


async def test_a_refused_request_does_not_take_the_key(api: httpx.AsyncClient) -> None:
    """A005"""
    refused = await api.post("/jobs", json=JOB | {"priority": 11}, headers=KEY)
    mended = await api.post("/jobs", json=JOB | {"priority": 9}, headers=KEY)
    assert (refused.status_code, mended.status_code) == (422, 201)
    assert "idempotency-replayed" not in mended.headers


async def test_a_crash_between_commit_and_answer_loses_no_id(
    app: FastAPI, jobs: JobStore, api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A006"""
    add = jobs.add

    async def add_and_die(*args: Any, **kwargs: Any) -> Any:
        await add(*args, **kwargs)
        raise StoreUnavailable

    monkeypatch.setattr(jobs, "add", add_and_die)
    assert (await api.post("/jobs", json=JOB, headers=KEY)).status_code == 503
    monkeypatch.undo()
    (made,) = (await api.get("/jobs")).json()
    again = await api.post("/jobs", json=JOB, headers=KEY)
    assert again.status_code == 201
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json()["id"] == made["id"]


async def test_a_job_found_by_its_name_answers_the_key_as_well(
    api: httpx.AsyncClient, register: Register
) -> None:
    job = await register(name="report")
    found = await api.post("/jobs", json=JOB | {"name": "report"}, headers=KEY)
    await api.delete(f"/jobs/{job['id']}")
    again = await api.post("/jobs", json=JOB | {"name": "report"}, headers=KEY)
    assert (found.status_code, again.status_code) == (200, 200)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json()["id"] == job["id"]


async def test_a_trigger_sent_again_is_one_run(
    api: httpx.AsyncClient, register: Register, runs: RunStore
) -> None:
    ref = (await register())["id"]
    first = await api.post(f"/jobs/{ref}/run", headers=KEY)
    again = await api.post(f"/jobs/{ref}/run", headers=KEY, json={})
    assert (first.status_code, again.status_code) == (202, 202)
    assert again.json() == first.json()
    assert [str(run.key) for run in await runs.history(RunFilter())] == [first.json()["id"]]


async def test_a_trigger_cut_short_after_its_promise_is_made_good(
    api: httpx.AsyncClient, register: Register, runs: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A006, for runs: the promise lies in one database, the run in the other."""
    ref = (await register())["id"]

    async def die(*_args: Any, **_kwargs: Any) -> Any:
        raise StoreUnavailable

    monkeypatch.setattr(runs, "save", die)
    assert (await api.post(f"/jobs/{ref}/run", headers=KEY)).status_code == 503
    monkeypatch.undo()
    assert await runs.history(RunFilter()) == []
    again = await api.post(f"/jobs/{ref}/run", headers=KEY)
    assert (again.status_code, again.headers["idempotency-replayed"]) == (202, "true")
    assert [str(run.key) for run in await runs.history(RunFilter())] == [again.json()["id"]]


async def test_a_trigger_of_a_job_deleted_since_is_answered_as_before(
    api: httpx.AsyncClient, register: Register, runs: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = (await register())["id"]

    async def die(*_args: Any, **_kwargs: Any) -> Any:
        raise StoreUnavailable

    monkeypatch.setattr(runs, "save", die)
    assert (await api.post(f"/jobs/{ref}/run", headers=KEY)).status_code == 503
    monkeypatch.undo()
    await api.delete(f"/jobs/{ref}")
    again = await api.post(f"/jobs/{ref}/run", headers=KEY)
    assert (again.status_code, again.headers["idempotency-replayed"]) == (202, "true")
    assert await runs.history(RunFilter()) == []


async def test_a_pause_sent_again_does_not_undo_a_resume(
    api: httpx.AsyncClient, register: Register
) -> None:
    ref = (await register())["id"]
    await api.post(f"/jobs/{ref}/pause", headers=KEY)
    await api.post(f"/jobs/{ref}/resume")
    again = await api.post(f"/jobs/{ref}/pause", headers=KEY)
    assert again.json()["state"] == "paused"
    assert (await api.get(f"/jobs/{ref}")).json()["state"] == "active"


async def test_a_key_is_free_again_after_a_failure(
    api: httpx.AsyncClient, jobs: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die(*_args: Any, **_kwargs: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(jobs, "add", die)
    assert (await api.post("/jobs", json=JOB, headers=KEY)).status_code == 500
    monkeypatch.undo()
    assert (await api.post("/jobs", json=JOB, headers=KEY)).status_code == 201
