"""POST /jobs and what of a job is shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from duly.clock import ManualClock
from duly.flow.plan import plan
from duly.store import JobStore, RunFilter, RunStore
from duly.wire import show_moment

pytestmark = pytest.mark.anyio

Register = Callable[..., Awaitable[dict[str, Any]]]
JSON = {"Content-Type": "application/json"}
JOB = {"schedule": "every 5 minutes", "command": {"shell": "make report"}}


def pointers(answer: httpx.Response) -> set[str]:
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return {each["pointer"] for each in answer.json()["errors"]}


async def test_a_job_is_registered_and_shown_as_it_was_given(api: httpx.AsyncClient) -> None:
    body = {
        "name": "report",
        "schedule": "every 5 minutes",
        "timezone": "Europe/Amsterdam",
        "gap": "skip",
        "repeat": "both",
        "command": {
            "exec": ["/usr/bin/make", "report", ""],
            "cwd": "/srv",
            "env": {"LANG": "C", "EMPTY": ""},
            "user": "reports",
        },
        "input": {"a": [1, 2.5, None, "ü"]},
        "jitter": "30s",
        "overlap": "allow",
        "missed": {"policy": "catch_up", "grace": "5m", "window": "2d"},
        "retry": {"tries": 2, "backoff": "10s", "cap": "1m"},
        "timeout": "1h30m",
        "queue": "heavy",
        "priority": 0,
        "owner": "ops@example.org",
        "description": "two\nlines",
        "alert": "none",
        "starts_at": "2026-10-24T04:00:00+02:00",
        "ends_at": "2027-01-01T00:00:00.5Z",
        "source": "/etc/crontab",
    }
    answer = await api.post("/jobs", json=body)
    assert answer.status_code == 201, answer.text
    job = answer.json()
    assert answer.headers["location"] == f"/jobs/{job['id']}"
    assert answer.headers["content-type"] == "application/json"
    assert {key: job[key] for key in body} == body | {"starts_at": "2026-10-24T02:00:00Z"}
    assert job["state"] == "active"
    assert job["version"] == 1
    assert job["created"] == job["updated"] == "2026-10-24T02:00:00Z"
    assert (await api.get(answer.headers["location"])).json() == job


async def test_what_is_not_given_has_a_default(api: httpx.AsyncClient) -> None:
    job = (await api.post("/jobs", json=JOB)).json()
    expected: dict[str, Any] = {
        "id": "j1",
        "name": None,
        "schedule": "every 5 minutes",
        "timezone": "UTC",
        "gap": "after",
        "repeat": "first",
        "command": {"shell": "make report"},
        "input": None,
        "jitter": "0s",
        "overlap": "skip",
        "missed": {"policy": "latest", "grace": "1m", "window": "1d"},
        "retry": {"tries": 4, "backoff": "1m", "cap": "1h"},
        "timeout": "1h",
        "queue": "default",
        "priority": 5,
        "owner": None,
        "description": None,
        "alert": "owner",
        "starts_at": None,
        "ends_at": None,
        "source": None,
        "state": "active",
        "next_run": "2026-10-24T02:05:00Z",
        "version": 1,
        "warnings": [],
    }
    assert {key: job[key] for key in expected} == expected
    assert "overdue_s" not in job


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("backup.nightly", "backup.nightly"),
        ({"name": "backup"}, "backup"),
        ({"shell": "echo $HOME", "stdin": "text"}, {"shell": "echo $HOME", "stdin": "text"}),
        ({"shell": "x", "cwd": None, "env": {}}, {"shell": "x"}),
    ],
)
async def test_a_command_has_three_forms(register: Register, given: Any, shown: Any) -> None:
    assert (await register(command=given))["command"] == shown


async def test_all_faults_are_told_at_once(api: httpx.AsyncClient) -> None:
    body = {
        "name": "",
        "schedule": "evry 5 minutes",
        "timezone": "Mars/Olympus",
        "command": {"exec": ["", "a\0b"], "env": {"A=B": "x", "C/D~": 5, "": ""}, "cwd": "srv"},
        "jitter": -1,
        "overlap": "replace",
        "missed": {"policy": "never", "grace": True},
        "retry": {"tries": 0},
        "timeout": "5 fortnights",
        "priority": "5",
        "starts_at": "2026-10-24T04:00:00",
        "prioritty": 1,
    }
    answer = await api.post("/jobs", json=body)
    assert pointers(answer) == {
        "/name",
        "/schedule",
        "/timezone",
        "/command/exec/1",
        "/command/env/A=B",
        "/command/env/C~1D~0",
        "/command/env/",
        "/command/cwd",
        "/jitter",
        "/overlap",
        "/missed/policy",
        "/missed/grace",
        "/retry/tries",
        "/timeout",
        "/priority",
        "/starts_at",
        "/prioritty",
    }
    told = {each["pointer"]: each["detail"] for each in answer.json()["errors"]}
    assert told["/prioritty"] == 'there is no such field; did you mean "priority"?'
    assert told["/priority"] == 'must be a whole number, not the string "5"'
    assert "queue" not in told["/overlap"]
    assert '"skip" (the default) and "allow"' in told["/overlap"]
    assert '"1h30m"' in told["/timeout"]


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"schedule": None}, "/schedule"),
        ({"schedule": 5}, "/schedule"),
        ({"schedule": ""}, "/schedule"),
        ({"command": None}, "/command"),
        ({"command": 5}, "/command"),
        ({"command": ""}, "/command"),
        ({"command": "rm -rf /"}, "/command"),
        ({"command": {}}, "/command"),
        ({"command": {"exec": ["a"], "shell": "a"}}, "/command"),
        ({"command": {"name": "a", "cwd": "/"}}, "/command"),
        ({"command": {"name": "a", "shell": "b"}}, "/command"),
        ({"command": {"exec": []}}, "/command/exec"),
        ({"command": {"exec": [""]}}, "/command/exec"),
        ({"command": {"exec": "ls"}}, "/command/exec"),
        ({"command": {"exec": ["ls", 5]}}, "/command/exec/1"),
        ({"command": {"shell": ""}}, "/command/shell"),
        ({"command": {"shell": "a\0"}}, "/command/shell"),
        ({"command": {"shell": "x" * 131072}}, "/command/shell"),
        ({"command": {"shell": "x", "stdin": "\0"}}, "/command/stdin"),
        ({"command": {"shell": "x", "user": ""}}, "/command/user"),
        ({"command": {"shell": "x", "nice": 5}}, "/command/nice"),
        ({"command": {"shell": "x", "stdin": ""}, "input": 0}, "/input"),
        ({"name": "a\nb"}, "/name"),
        ({"name": "x" * 201}, "/name"),
        ({"name": 7}, "/name"),
        ({"timezone": 1}, "/timezone"),
        ({"timezone": ""}, "/timezone"),
        ({"gap": "before"}, "/gap"),
        ({"repeat": 2}, "/repeat"),
        ({"jitter": True}, "/jitter"),
        ({"jitter": "2d"}, "/jitter"),
        ({"jitter": 1e300}, "/jitter"),
        ({"jitter": 10**400}, "/jitter"),
        ({"priority": 10**400}, "/priority"),
        ({"retry": {"tries": 10**400}}, "/retry/tries"),
        ({"timeout": 0}, "/timeout"),
        ({"timeout": "31d"}, "/timeout"),
        ({"timeout": "-5m"}, "/timeout"),
        ({"timeout": "5"}, "/timeout"),
        ({"timeout": ["5m"]}, "/timeout"),
        ({"overlap": "queue_one"}, "/overlap"),
        ({"overlap": False}, "/overlap"),
        ({"missed": "always"}, "/missed"),
        ({"missed": 5}, "/missed"),
        ({"retry": "always"}, "/retry"),
        ({"retry": {"tries": True}}, "/retry/tries"),
        ({"retry": {"tries": 2.5}}, "/retry/tries"),
        ({"retry": {"tries": 101}}, "/retry/tries"),
        ({"retry": {"backoff": "2m", "cap": "1m"}}, "/retry/cap"),
        ({"queue": "a b"}, "/queue"),
        ({"priority": 10}, "/priority"),
        ({"priority": -1}, "/priority"),
        ({"priority": True}, "/priority"),
        ({"alert": "all"}, "/alert"),
        ({"starts_at": "2027-01-01T00:00:00Z", "ends_at": "2026-12-01T00:00:00Z"}, "/ends_at"),
        ({"starts_at": "0001-01-01T00:00:00Z"}, "/starts_at"),
        ({"starts_at": "9999-12-31T23:59:59-14:00"}, "/starts_at"),
        ({"ends_at": "2026-02-30T00:00:00Z"}, "/ends_at"),
        ({"ends_at": 1790000000}, "/ends_at"),
        ({"description": "\0"}, "/description"),
        ({"state": "paused"}, "/state"),
    ],
)
async def test_a_fault_is_told_where_it_stands(
    api: httpx.AsyncClient, fields: dict[str, Any], pointer: str
) -> None:
    answer = await api.post("/jobs", json=JOB | fields)
    assert pointers(answer) == {pointer}
    assert (await api.get("/jobs")).json() == []


@pytest.mark.parametrize("body", ["[]", '"text"', "5", "null", "true"])
async def test_a_body_that_is_no_object_is_refused(api: httpx.AsyncClient, body: str) -> None:
    answer = await api.post("/jobs", content=body, headers=JSON)
    assert pointers(answer) == {""}
    assert "must be a JSON object" in answer.json()["detail"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  ",
        b"{",
        b"{} {}",
        b"{'a': 1}",
        b'{"schedule": NaN}',
        b'{"input": -Infinity}',
        b'{"name": "\xff"}',
        b'{"name": "\\ud800"}',
        b'{"input": ' + b"9" * 5000 + b"}",
        b"[" * 10_000 + b"]" * 10_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    ],
)
async def test_what_is_not_json_is_a_400(api: httpx.AsyncClient, body: bytes) -> None:
    answer = await api.post("/jobs", content=body, headers=JSON)
    assert answer.status_code == 400, answer.text
    assert answer.json()["type"] == "urn:duly:problem:malformed-json"


async def test_an_input_that_overflows_is_told(api: httpx.AsyncClient) -> None:
    body = b'{"schedule": "every 5 minutes", "command": "x", "input": [1e999]}'
    answer = await api.post("/jobs", content=body, headers=JSON)
    assert pointers(answer) == {"/input"}


async def test_an_input_is_kept_as_json(register: Register) -> None:
    values: list[Any] = [0, False, "", [], {}, "\0", 12345678901234567890, 0.1, {"ü": ["🙂"]}]
    for value in values:
        assert (await register(input=value))["input"] == value


async def test_a_schedule_without_a_time_to_come_is_refused(api: httpx.AsyncClient) -> None:
    past = await api.post("/jobs", json=JOB | {"schedule": "at 2020-01-01T00:00"})
    assert pointers(past) == {"/schedule"}
    ended = await api.post("/jobs", json=JOB | {"ends_at": "2026-10-24T02:04:59Z"})
    assert pointers(ended) == {"/schedule"}


async def test_the_same_name_and_body_is_the_same_job(api: httpx.AsyncClient) -> None:
    body = JOB | {"name": "report"}
    first = await api.post("/jobs", json=body)
    second = await api.post("/jobs", json=body | {"schedule": "every  5  minutes"})
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json() == first.json()
    assert second.headers["location"] == first.headers["location"]


async def test_the_same_name_with_another_body_is_a_conflict(api: httpx.AsyncClient) -> None:
    first = (await api.post("/jobs", json=JOB | {"name": "report"})).json()
    answer = await api.post("/jobs", json=JOB | {"name": "report", "priority": 1})
    assert answer.status_code == 409
    problem = answer.json()
    assert problem["type"] == "urn:duly:problem:name-taken"
    assert problem["job"] == first["id"]
    assert first["id"] in problem["detail"]


async def test_a_past_one_off_registered_again_by_name_is_found(
    api: httpx.AsyncClient, clock: ManualClock
) -> None:
    body = JOB | {"name": "once", "schedule": "at 2026-10-24T03:00"}
    first = (await api.post("/jobs", json=body)).json()
    clock.move(timedelta(days=1))
    again = await api.post("/jobs", json=body)
    assert (again.status_code, again.json()["id"]) == (200, first["id"])


async def test_a_jittered_job_shows_the_run_that_will_be(
    register: Register, jobs: JobStore
) -> None:
    """Registered on a slot's very instant: that slot is past, also where its jitter is to come."""
    job = await register(jitter="4m")
    stored = await jobs.get(int(job["id"][1:]))
    assert stored is not None
    assert stored.next_run_at is not None
    assert job["next_run"] == show_moment(stored.next_run_at)
    assert job["next_run"] >= "2026-10-24T02:05:00Z"


async def test_an_overdue_job_says_by_how_much_and_why(
    api: httpx.AsyncClient, register: Register, clock: ManualClock, jobs: JobStore
) -> None:
    """A013"""
    ref = (await register())["id"]
    clock.set(datetime(2026, 10, 24, 2, 5, 4, tzinfo=UTC))
    assert "overdue_s" not in (await api.get(f"/jobs/{ref}")).json()
    clock.set(datetime(2026, 10, 25, 2, 5, tzinfo=UTC))
    job = (await api.get(f"/jobs/{ref}")).json()
    assert job["next_run"] == "2026-10-24T02:05:00Z"
    assert job["overdue_s"] == 86400
    assert "no scheduler has ever run" in job["overdue_reason"]
    await jobs.take_over("test")
    (listed,) = (await api.get("/jobs")).json()
    assert listed["overdue_s"] == 86400
    assert "no scheduler has planned it yet" in listed["overdue_reason"]


@pytest.mark.parametrize(
    "schedule", ["every 5 minutes", "daily 02:00", "EVERY  5 Minutes", "at 2026-12-04T18:00"]
)
async def test_what_registration_accepts_planning_can_plan(
    register: Register, jobs: JobStore, runs: RunStore, clock: ManualClock, schedule: str
) -> None:
    """A014"""
    job = await register(schedule=schedule, missed={"policy": "catch_up", "window": "366d"})
    stored = await jobs.get(int(job["id"][1:]))
    assert stored is not None
    assert stored.spec.parsed().text == stored.spec.schedule == job["schedule"]
    due = datetime.fromisoformat(job["next_run"])
    clock.set(due)
    done = await plan(jobs, runs, term=await jobs.take_over("test"), now=due, horizon=timedelta(0))
    assert (done.read, done.moved) == (1, 1)
    assert [run.key.scheduled_for for run in await runs.history(RunFilter())] == [due]
