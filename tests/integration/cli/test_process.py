"""The command as a process: what only a real one can show."""

from __future__ import annotations

import os
import pty
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Answer, Duly, process
from tests.integration.duly_up import duly_up

HOSTILE = r"printf 'a\033[2Jb\r\nc\351\000\n'"


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder of a whole Duly: API, scheduler and worker."""
    data = tmp_path_factory.mktemp("up") / "data"
    with duly_up(data):
        yield data


def run_once(data: Path, name: str, shell: str, *more: str) -> Answer:
    added = process(
        data, "jobs", "add", "--name", name, "--schedule", "yearly 01-01 00:00", "--shell", shell,
        "--retry", "never",
    )  # fmt: skip
    assert added.code == 0, added.err
    return process(data, "jobs", "run", name, *more)


def test_run_waits_for_success(up: Path) -> None:
    answer = run_once(up, "good", "echo fine", "--wait", "--json")
    assert (answer.code, answer.json["status"], answer.json["exit_code"]) == (0, "succeeded", 0)
    assert process(up, "runs", "output", answer.json["id"]).out == b"fine\n"


def test_a_run_that_fails_is_exit_code_1(up: Path) -> None:
    answer = run_once(up, "bad", "exit 7", "--wait")
    assert answer.code == 1
    assert re.search(r"^status +dead$", answer.text, re.MULTILINE)
    assert "exit code 7" in answer.text


def test_output_is_bytes_as_written_but_harmless_on_a_terminal(up: Path) -> None:
    run = run_once(up, "hostile", HOSTILE, "--wait", "--json").json["id"]
    assert process(up, "runs", "output", run).out == b"a\x1b[2Jb\r\nc\xe9\x00\n"

    reader, terminal = pty.openpty()
    env = {**os.environ, "DULY_DATA": str(up)}
    subprocess.run(
        [sys.executable, "-m", "duly", "runs", "output", run], stdout=terminal, env=env, check=True
    )
    os.close(terminal)
    shown = os.read(reader, 4096).decode()
    os.close(reader)
    # The terminal itself turns \n into \r\n.
    assert shown == "a␛[2Jb\r\nc\ufffd␀\r\n"


def test_status_shows_the_worker(up: Path) -> None:
    assert process(up, "status", "--json").json["workers"][0]["queues"] == ["default"]
    assert "workers" in process(up, "status").text


def test_no_server_is_exit_code_6_and_no_traceback(started: Duly) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    answer = started("jobs", "list", DULY_URL=url)
    assert (answer.code, answer.out) == (6, b"")
    reason = "[Errno 111] Connection refused"
    assert answer.err == f"duly: no server answers at {url} ({reason}); start it with `duly up`\n"


def test_a_schedule_needs_none_of_the_heavy_libraries(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "duly", "schedule", "next", "hourly", "--json"],
        capture_output=True,
        check=True,
        text=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "duly.schedule" in loaded
    assert loaded.isdisjoint({"httpx", "fastapi", "rich.console", "uvicorn", "asyncio", "sqlite3"})


def test_a_reader_that_goes_away_is_no_error_to_shout_about(tmp_path: Path) -> None:
    command = f"{sys.executable} -m duly schedule next 'every 1 second' --count 30000 | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, check=True)  # noqa: S602
    assert done.stdout.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


def test_a_terminal_without_unicode_gets_numbers(started: Duly) -> None:
    answer = started("schedule", "next", "daily 02:00\u2603", PYTHONIOENCODING="ascii")
    assert answer.code == 2
    assert "\\u2603" in answer.err


def test_the_version_is_told(started: Duly) -> None:
    assert started("--version").text.startswith("duly 0.")
