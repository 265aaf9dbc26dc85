"""PATCH, pause, resume, DELETE."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from duly.clock import ManualClock
from duly.flow.plan import plan
from duly.job import Command, JobSpec
from duly.store import JobStore, NewJob, RunStore

pytestmark = pytest.mark.anyio

Register = Callable[..., Awaitable[dict[str, Any]]]


async def test_only_what_is_named_changes(
    api: httpx.AsyncClient, register: Register, clock: ManualClock
) -> None:
    job = await register(name="report", jitter="10s", input={"a": 1})
    clock.move(timedelta(seconds=1))
    answer = await api.patch(f"/jobs/{job['id']}", json={"priority": 1, "timeout": 90})
    assert answer.status_code == 200
    changed = {"priority": 1, "timeout": "1m30s", "version": 2, "updated": "2026-10-24T02:00:01Z"}
    assert answer.json() == job | changed
    assert (await api.get(f"/jobs/{job['id']}")).json() == answer.json()


async def test_null_sets_a_field_back(api: httpx.AsyncClient, register: Register) -> None:
    fields = {
        "name": "report",
        "timezone": "Europe/Amsterdam",
        "input": {"a": 1},
        "jitter": "10s",
        "overlap": "allow",
        "missed": "skip",
        "retry": "never",
        "timeout": "2h",
        "queue": "heavy",
        "priority": 1,
        "description": "d",
        "owner": "o",
        "alert": "none",
        "starts_at": "2026-10-24T03:00:00Z",
        "ends_at": "2027-10-24T03:00:00Z",
        "gap": "skip",
        "repeat": "both",
        "source": "s",
    }
    plain = await register()
    job = await register(**fields)
    reset = (await api.patch(f"/jobs/{job['id']}", json=dict.fromkeys(fields))).json()
    assert {key: reset[key] for key in fields} == {key: plain[key] for key in fields}


async def test_members_of_a_command_merge(api: httpx.AsyncClient, register: Register) -> None:
    job = await register(command={"shell": "x", "env": {"A": "1", "B": "2"}, "cwd": "/srv"})
    url = f"/jobs/{job['id']}"
    patch: dict[str, Any] = {"command": {"env": {"A": None, "C": "3"}, "cwd": None}}
    assert (await api.patch(url, json=patch)).json()["command"] == {
        "shell": "x",
        "env": {"B": "2", "C": "3"},
    }
    patch = {"command": {"shell": None, "env": None, "exec": ["ls"]}}
    assert (await api.patch(url, json=patch)).json()["command"] == {"exec": ["ls"]}
    assert (await api.patch(url, json={"command": "named"})).json()["command"] == "named"
    both = await api.patch(url, json={"command": {"shell": "x"}})
    assert [e["pointer"] for e in both.json()["errors"]] == ["/command"]
    patch = {"command": {"name": None, "shell": "y"}}
    assert (await api.patch(url, json=patch)).json()["command"] == {"shell": "y"}


async def test_members_of_policies_merge_and_an_input_is_replaced(
    api: httpx.AsyncClient, register: Register
) -> None:
    job = await register(
        retry={"tries": 2, "backoff": "10s"}, missed={"grace": "5m"}, input={"a": 1, "b": 2}
    )
    patch = {"retry": {"tries": 3}, "missed": {"policy": "catch_up"}, "input": {"a": None}}
    changed = (await api.patch(f"/jobs/{job['id']}", json=patch)).json()
    assert changed["retry"] == {"tries": 3, "backoff": "10s", "cap": "1h"}
    assert changed["missed"] == {"policy": "catch_up", "grace": "5m", "window": "1d"}
    assert changed["input"] == {"a": None}


@pytest.mark.parametrize(
    ("patch", "pointer"),
    [
        ({"schedule": None}, "/schedule"),
        ({"command": None}, "/command"),
        ({"schedule": "evry minute"}, "/schedule"),
        ({"timezone": "Mars/Olympus"}, "/timezone"),
        ({"priority": "1"}, "/priority"),
        ({"prio": 1}, "/prio"),
        ({"id": "j9"}, "/id"),
        ({"ends_at": "2026-10-24T02:59:59Z"}, "/ends_at"),
        ({"command": {"stdin": "text"}}, "/input"),
        ({"command": {"exec": ["ls"]}}, "/command"),
        ({"retry": {"cap": "1s"}}, "/retry/cap"),
        ([], ""),
    ],
)
async def test_the_merged_job_is_checked_as_a_whole(
    api: httpx.AsyncClient, register: Register, patch: Any, pointer: str
) -> None:
    job = await register(input=1, starts_at="2026-10-24T03:00:00Z")
    answer = await api.patch(f"/jobs/{job['id']}", json=patch)
    assert answer.status_code == 422
    assert [each["pointer"] for each in answer.json()["errors"]] == [pointer]
    assert (await api.get(f"/jobs/{job['id']}")).json() == job


async def test_a_fault_of_another_field_does_not_hinder_an_edit(
    api: httpx.AsyncClient, jobs: JobStore, clock: ManualClock
) -> None:
    """A job that came in under other rules (an import, an older version) can still be edited."""
    spec = JobSpec(
        "every 5 minutes", Command(shell="x"), name=" blank ", timeout=timedelta(microseconds=1)
    )
    added = await jobs.add(NewJob("default", spec, timedelta(0), clock.now() + timedelta(hours=1)))
    answer = await api.patch(f"/jobs/{added.job.ref}", json={"priority": 1})
    assert answer.status_code == 200
    assert answer.json()["name"] == " blank "


async def test_a_new_schedule_voids_what_was_planned(
    api: httpx.AsyncClient, register: Register, jobs: JobStore, runs: RunStore, clock: ManualClock
) -> None:
    job = await register()
    term = await jobs.take_over("test")
    await plan(jobs, runs, term=term, now=clock.now(), horizon=timedelta(minutes=5))
    (planned,) = (await api.get("/runs")).json()
    assert planned["status"] == "queued"
    changed = (await api.patch(f"/jobs/{job['id']}", json={"schedule": "daily 02:03"})).json()
    assert changed["next_run"] == "2026-10-24T02:03:00Z"
    (voided,) = (await api.get("/runs")).json()
    assert (voided["status"], voided["reason"]) == ("canceled", "the job's schedule was edited")
    assert voided["finished"] == "2026-10-24T02:00:00Z"


async def test_a_schedule_respelled_changes_nothing(
    api: httpx.AsyncClient, register: Register
) -> None:
    job = await register()
    assert (
        await api.patch(f"/jobs/{job['id']}", json={"schedule": "EVERY   5 minutes"})
    ).json() == job
    assert (await api.patch(f"/jobs/{job['id']}", json={})).json() == job


async def test_a_name_that_is_taken_is_refused(api: httpx.AsyncClient, register: Register) -> None:
    one, two = await register(name="one"), await register(name="two")
    answer = await api.patch(f"/jobs/{two['id']}", json={"name": "one"})
    assert (answer.status_code, answer.json()["job"]) == (409, one["id"])


async def test_a_job_is_paused_and_resumed(
    api: httpx.AsyncClient, register: Register, clock: ManualClock
) -> None:
    ref = (await register())["id"]
    paused = await api.post(f"/jobs/{ref}/pause")
    assert (paused.status_code, paused.json()["state"]) == (200, "paused")
    assert paused.json()["next_run"] is None
    clock.move(timedelta(minutes=12))
    resumed = await api.post(f"/jobs/{ref}/resume")
    assert (resumed.status_code, resumed.json()["state"]) == (200, "active")
    assert resumed.json()["next_run"] == "2026-10-24T02:15:00Z"
    (told,) = (await api.get(f"/jobs/{ref}/runs")).json()
    assert (told["status"], told["slots"]) == ("skipped", 2)
    assert (told["for"], told["last_slot"]) == ("2026-10-24T02:05:00Z", "2026-10-24T02:10:00Z")


async def test_a_deleted_job_is_gone_and_its_history_stays(
    api: httpx.AsyncClient, register: Register
) -> None:
    job = await register(name="report")
    run = (await api.post(f"/jobs/{job['id']}/run")).json()
    answer = await api.delete(f"/jobs/{job['id']}")
    assert (answer.status_code, answer.content) == (204, b"")
    url = f"/jobs/{job['id']}"
    gone = [
        await api.get(url),
        await api.patch(url, json={}),
        await api.delete(url),
        await api.post(f"{url}/pause"),
        await api.post(f"{url}/resume"),
        await api.post(f"{url}/run"),
    ]
    assert [each.status_code for each in gone] == [404] * 6
    assert (await api.get("/jobs")).json() == []
    assert [each["id"] for each in (await api.get(f"{url}/runs")).json()] == [run["id"]]
    assert (await api.get(f"/runs/{run['id']}")).status_code == 200
    assert (await register(name="report"))["id"] != job["id"]


@pytest.mark.parametrize("ref", ["j99", "j0", "7", "x", "j1x", "j" + "9" * 30, "%6A99"])
async def test_a_job_that_is_not_there_is_a_404(api: httpx.AsyncClient, ref: str) -> None:
    answers = [
        await api.get(f"/jobs/{ref}"),
        await api.patch(f"/jobs/{ref}", json={}),
        await api.delete(f"/jobs/{ref}"),
        await api.post(f"/jobs/{ref}/run"),
        await api.get(f"/jobs/{ref}/runs"),
    ]
    assert [each.status_code for each in answers] == [404] * 5
    assert {each.json()["type"] for each in answers} == {"urn:duly:problem:no-such-job"}
