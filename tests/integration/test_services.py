"""`duly up` and the roles as processes: starting, stopping, being restarted, being misused."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

from tests.integration.duly_up import Up, duly_up, until


def duly(*arguments: str, timeout_s: float = 30) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "duly", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def job(up: Up, shell: str, **fields: Any) -> str:
    body = {"schedule": "yearly 01-01 00:00", "command": {"shell": shell}, **fields}
    return str(up.http.post("/jobs", json=body).raise_for_status().json()["id"])


def start(up: Up, job_id: str) -> str:
    return str(up.http.post(f"/jobs/{job_id}/run").raise_for_status().json()["id"])


def run(up: Up, run_id: str) -> dict[str, Any]:
    found: dict[str, Any] = up.http.get(f"/runs/{run_id}").json()
    return found


def wait_for(up: Up, run_id: str, *statuses: str) -> dict[str, Any]:
    until(lambda: run(up, run_id)["status"] in statuses)
    return run(up, run_id)


def test_it_says_where_it_listens_and_where_the_data_lies(tmp_path: Path) -> None:
    with duly_up(tmp_path / "data") as up:
        log = up.log()
        assert f"Duly listens on {str(up.http.base_url).rstrip('/')}" in log
        assert f"Data lies in    {tmp_path / 'data'}" in log
        assert (tmp_path / "data" / "token").stat().st_mode & 0o777 == 0o600


def test_the_token_stays_the_same_over_restarts(tmp_path: Path) -> None:
    tokens = set()
    for _ in range(2):
        with duly_up(tmp_path / "data"):
            tokens.add((tmp_path / "data" / "token").read_text())
    assert len(tokens) == 1
    assert len(tokens.pop().strip()) > 40


def test_jobs_and_history_outlive_a_restart(tmp_path: Path) -> None:
    with duly_up(tmp_path / "data") as up:
        run_id = start(up, job(up, "echo kept"))
        wait_for(up, run_id, "succeeded")
    with duly_up(tmp_path / "data") as up:
        assert run(up, run_id)["status"] == "succeeded"
        assert up.http.get(f"/runs/{run_id}/output").text == "kept\n"


def test_each_role_that_dies_is_started_again(tmp_path: Path) -> None:
    with duly_up(tmp_path / "data") as up:
        before = {name: up.role(name) for name in ("api", "scheduler", "worker")}
        for process in before.values():
            assert process is not None
            process.kill()
        for name, process in before.items():
            until(lambda name=name, process=process: up.role(name) not in (None, process))
        until(lambda: _succeeds(up))


def _succeeds(up: Up) -> bool:
    try:
        run_id = start(up, job(up, "true"))
    except OSError:
        return False
    wait_for(up, run_id, "succeeded")
    return True


def test_a_stop_lets_commands_finish(tmp_path: Path) -> None:
    with duly_up(tmp_path / "data") as up:
        run_id = start(up, job(up, "sleep 2; echo finished"))
        wait_for(up, run_id, "running")
        up.process.send_signal(signal.SIGTERM)
        assert up.process.wait(30) == 0
    with duly_up(tmp_path / "data") as up:
        found = run(up, run_id)
        assert (found["status"], found["attempts"]) == ("succeeded", 1)


def test_what_outlasts_the_grace_is_ended_and_handed_back_at_no_cost(tmp_path: Path) -> None:
    """W018, W019."""
    with duly_up(tmp_path / "data", "--grace", "0.5") as up:
        run_id = start(up, job(up, "sleep 321.25", retry={"tries": 1}))
        wait_for(up, run_id, "running")
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(30) == 0
    assert _alive("sleep 321.25") == []
    with duly_up(tmp_path / "data", "--grace", "0.5") as up:
        found = wait_for(up, run_id, "running")
        assert (found["attempts"], found["interruptions"]) == (1, 1)
        assert [each["outcome"] for each in found["tries"]] == ["interrupted"]


def test_a_second_signal_does_not_wait_for_the_grace(tmp_path: Path) -> None:
    with duly_up(tmp_path / "data", "--grace", "600") as up:
        wait_for(up, start(up, job(up, "sleep 322.25")), "running")
        up.process.send_signal(signal.SIGTERM)
        until(lambda: "draining" in up.log())
        up.process.send_signal(signal.SIGTERM)
        assert up.process.wait(30) == 0
    assert _alive("sleep 322.25") == []


def test_roles_do_not_outlive_a_killed_supervisor(tmp_path: Path) -> None:
    with duly_up(tmp_path / "data") as up:
        roles = psutil.Process(up.process.pid).children()
        assert len(roles) == 3
        up.process.kill()
        assert psutil.wait_procs(roles, timeout=20)[1] == []


def test_a_second_scheduler_stands_by_and_takes_over(tmp_path: Path) -> None:
    with duly_up(tmp_path / "data") as up:
        log = (tmp_path / "standby").open("wb")
        argv = [sys.executable, "-m", "duly", "scheduler", "--data", str(tmp_path / "data")]
        standby = subprocess.Popen(argv, stderr=log)
        try:
            until(lambda: "standing_by" in (tmp_path / "standby").read_text())
            leader = up.role("scheduler")
            assert leader is not None
            os.kill(up.process.pid, signal.SIGSTOP)  # else it would start another at once
            leader.kill()
            until(lambda: "leading" in (tmp_path / "standby").read_text())
            os.kill(up.process.pid, signal.SIGCONT)
            until(lambda: up.http.get("/status").json()["term"] >= 2)
        finally:
            standby.terminate()
            standby.wait(20)
            log.close()


def test_named_commands_come_from_the_workers_file_and_change_with_it(tmp_path: Path) -> None:
    file = tmp_path / "data" / "worker.toml"
    with duly_up(tmp_path / "data") as up:
        body = {"schedule": "yearly 01-01 00:00", "command": "hello", "retry": "never"}
        job_id = up.http.post("/jobs", json=body).json()["id"]
        missing = wait_for(up, start(up, job_id), "dead")
        assert "no command named 'hello'" in missing["reason"]
        file.write_text('[commands.hello]\nexec = ["echo", "from the file"]\n')
        run_id = start(up, job_id)
        wait_for(up, run_id, "succeeded")
        assert up.http.get(f"/runs/{run_id}/output").text == "from the file\n"
        file.write_text("[commands.hello]\nexecute = 1\n")
        broken = wait_for(up, start(up, job_id), "dead")
        assert "[commands.hello] needs either exec" in broken["reason"]
        assert up.role("worker") is not None


def test_a_taken_port_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = duly("up", "--data", str(tmp_path), "--port", port)
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1 port {port}: Address already in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_unusable_settings_are_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for arguments, message in (
        (("up", "--data", str(tmp_path / "file")), "cannot be used"),
        (("up", "--data", str(tmp_path), "--port", "99999"), "not between 0 and 65535"),
        (("worker", "--data", str(tmp_path), "--lease", "10"), "at least twice as long"),
        (("worker", "--data", str(tmp_path), "--concurrency", "0"), "is below 1"),
    ):
        done = duly(*arguments)
        assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
        assert message in done.stderr


def test_a_database_of_a_newer_duly_is_left_alone(tmp_path: Path) -> None:
    with duly_up(tmp_path):
        pass
    subprocess.run(
        [sys.executable, "-c", _NEWER, str(tmp_path / "jobs.db")], check=True, timeout=10
    )
    for command in ("scheduler", "up"):
        done = duly(command, "--data", str(tmp_path))
        assert done.returncode == 2
        assert "has schema 99, this Duly knows up to 1" in done.stderr


def test_a_file_that_is_no_database_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "runs.db").write_text("no database at all, but long enough to look like one" * 9)
    done = duly("up", "--data", str(tmp_path), "--port", "0")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "runs.db is no database of Duly's" in done.stderr


def test_others_on_the_machine_cannot_read_the_databases(tmp_path: Path) -> None:
    with duly_up(tmp_path / "data"):
        modes = {
            file.name: file.stat().st_mode & 0o077 for file in (tmp_path / "data").glob("*.db*")
        }
    assert set(modes.values()) == {0}, modes


_NEWER = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA user_version=99')"


def _alive(text: str) -> list[int]:
    return [
        process.pid
        for process in psutil.process_iter(["cmdline", "status"])
        if process.info["cmdline"] == text.split() and process.info["status"] != "zombie"
    ]
