"""SIGKILL at random for any of the three processes, under load: nothing lost, nothing doubled.

DULY_CHAOS_S sets for how long (15 s unless told; `make chaos` takes five minutes). The commands
write to a file that Duly knows nothing of; what stands there is compared with the history.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil

from tests.integration.duly_up import Up, duly_up, until

SECONDS = float(os.environ.get("DULY_CHAOS_S", "15"))
JOBS = 20
ROLES = ("api", "scheduler", "worker")
FINAL = {"succeeded", "dead", "skipped", "canceled"}
PROBE = (
    'echo "start $DULY_RUN_ID $DULY_ATTEMPT $DULY_FENCING_TOKEN" >> "$WITNESS"; sleep 0.3; '
    'echo "end $DULY_RUN_ID $DULY_ATTEMPT $DULY_FENCING_TOKEN" >> "$WITNESS"'
)


def test_killing_any_process_at_random_loses_no_run_and_doubles_no_plan(tmp_path: Path) -> None:
    seed = int(os.environ.get("DULY_SEED", random.randrange(1 << 32)))
    print(f"seed {seed}")  # shown by pytest when the test fails
    witness = tmp_path / "witness"
    witness.touch()
    with duly_up(tmp_path / "data") as up:
        for number in range(JOBS):
            _register(up, number, witness)
        since = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2)
        kills = _kill_at_random(up, random.Random(seed))
        last = datetime.now(UTC).replace(microsecond=0)
        until(lambda: _answers(up))
        runs = _settled(up, since, last)
        tries = {str(run["id"]): up.http.get(f"/runs/{run['id']}").json()["tries"] for run in runs}
    assert min(kills.values()) >= 1, f"every role was hit: {kills}"
    _judge(since, last, runs, tries, witness.read_text().splitlines())


def _register(up: Up, number: int, witness: Path) -> None:
    body = {
        "name": f"probe-{number}",
        "schedule": "every 1 second",
        "command": {"shell": PROBE, "env": {"WITNESS": str(witness)}},
        "overlap": "allow",
        "missed": "catch_up",
        "retry": {"tries": 20, "backoff": "1s"},
    }
    up.http.post("/jobs", json=body).raise_for_status()


def _kill_at_random(up: Up, dice: random.Random) -> Counter[str]:
    kills: Counter[str] = Counter()
    give_up_at = time.monotonic() + SECONDS
    order = list(ROLES)
    while time.monotonic() < give_up_at or min(kills[name] for name in ROLES) == 0:
        time.sleep(dice.uniform(0.2, 2.0))
        if not order:
            order = list(ROLES)
        role = order.pop(dice.randrange(len(order)))
        process = up.role(role)
        if process is not None:
            process.kill()
            kills[role] += 1
    return kills


def _answers(up: Up) -> bool:
    try:
        return up.http.get("/readyz").status_code == 200
    except OSError:
        return False
    except Exception as error:  # noqa: BLE001 - the connection may break in any way meanwhile
        return not error


def _settled(up: Up, since: datetime, last: datetime) -> list[dict[str, object]]:
    """The history of [since, last], once nothing of it is open any more."""
    runs: list[dict[str, object]] = []

    def all_final() -> bool:
        runs[:] = up.history(since, last)
        expected = JOBS * (int((last - since).total_seconds()) + 1)
        return len(runs) >= expected and all(run["status"] in FINAL for run in runs)

    until(all_final, timeout_s=60 + SECONDS, every_s=0.5)
    return runs


def _judge(
    since: datetime,
    last: datetime,
    runs: list[dict[str, object]],
    tries: dict[str, list[dict[str, object]]],
    witness: list[str],
) -> None:
    seconds = int((last - since).total_seconds()) + 1
    slots = Counter((run["job"], run["for"]) for run in runs)
    assert set(slots.values()) == {1}, "each slot has exactly one row"
    assert len(slots) == JOBS * seconds, "each slot has a row"
    assert Counter(str(run["status"]) for run in runs) == {"succeeded": len(runs)}

    starts: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    ends: set[tuple[str, str]] = set()
    for line in witness:
        what, run_id, attempt, token = line.split()
        if what == "start":
            starts[run_id][attempt, token] += 1
        else:
            ends.add((run_id, token))
    for run in runs:
        run_id = str(run["id"])
        seen = starts[run_id]
        assert set(seen.values()) == {1}, f"{run_id}: no try started twice: {seen}"
        tokens = [int(token) for _, token in sorted(seen, key=lambda each: int(each[0]))]
        assert tokens == sorted(tokens), f"{run_id}: tokens rise with tries: {seen}"
        assert (run_id, str(tokens[-1])) in ends, f"{run_id}: its last try ran to its end"
        lost = [each["outcome"] for each in tries[run_id][: int(str(run["attempts"])) - 1]]
        assert set(lost) <= {"lost"}, f"{run_id}: a try of a killed worker is seen as lost: {lost}"
        assert len(seen) <= int(str(run["attempts"])), f"{run_id}: no try without a row: {seen}"


def test_a_killed_workers_commands_die_with_it_and_its_tries_are_seen_as_lost(
    tmp_path: Path,
) -> None:
    """W012, W013: the run is taken up within seconds, not when the lease would have ended."""
    with duly_up(tmp_path / "data") as up:
        body = {"schedule": "yearly 01-01 00:00", "command": {"shell": "sleep 311.25"}}
        job = up.http.post("/jobs", json=body).json()["id"]
        run = up.http.post(f"/jobs/{job}/run").json()["id"]
        until(lambda: up.http.get(f"/runs/{run}").json()["status"] == "running")
        until(lambda: _commands("sleep 311.25"))
        (first,) = _commands("sleep 311.25")
        worker = up.role("worker")
        assert worker is not None
        worker.kill()
        until(lambda: up.http.get(f"/runs/{run}").json()["attempts"] == 2)
        document = up.http.get(f"/runs/{run}").json()
        until(lambda: len(_commands("sleep 311.25")) == 1)
        assert first not in _commands("sleep 311.25")
        assert [each["outcome"] for each in document["tries"]] == ["lost"]
        assert "lost with its worker" in document["tries"][0]["reason"]
        up.role("worker")
        up.process.send_signal(2)
        up.process.send_signal(2)
        up.process.wait(60)
    assert _commands("sleep 311.25") == []


def _commands(text: str) -> list[int]:
    """Processes that run exactly this (a shell that only carries the text left out)."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline", "status"])
        if process.info["cmdline"] == text.split() and process.info["status"] != "zombie"
    ]
