"""`duly jobs import` against a real API."""

from __future__ import annotations

import json
import os
import pty
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duly.sdk import Client
from tests.integration.cli.conftest import Duly

NOTHING = {"created": 0, "existing": 0, "failed": 0}


def body(name: str | None, **fields: Any) -> bytes:
    job = {"name": name, "schedule": "daily 02:00", "command": {"shell": "true"}} | fields
    return json.dumps(job).encode()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two jobs, a blank line, a bad line, a third job: the last without a line break."""
    path = tmp_path / "jobs.ndjson"
    path.write_bytes(b"\n".join([body("a"), body("b"), b"", body("bad", what=1), body(None)]))
    return path


def many(path: Path, count: int) -> Path:
    path.write_bytes(b"".join(body(f"job-{number}") + b"\n" for number in range(count)))
    return path


def test_each_line_becomes_a_job_and_failures_are_told_by_their_line(
    duly: Duly, file: Path
) -> None:
    answer = duly("jobs", "import", str(file))
    assert answer.code == 1
    assert answer.text == "3 created, 0 there already, 1 failed\n"
    assert answer.err == f"{file}:4: /what: there is no such field\n"
    assert [job["name"] for job in duly("jobs", "list", "--json").json] == ["a", "b", None]


def test_run_again_it_makes_no_job_with_a_name_twice(duly: Duly, tmp_path: Path) -> None:
    path = many(tmp_path / "jobs", 3)
    first, again = (duly("jobs", "import", str(path), "--json") for _ in range(2))
    assert (first.code, first.err) == (0, "")
    assert first.json == NOTHING | {"lines": 3, "created": 3, "complete": True}
    assert again.json == NOTHING | {"lines": 3, "existing": 3, "complete": True}


def test_standard_input_is_read(duly: Duly) -> None:
    answer = duly("jobs", "import", "-", stdin=b"\n{\n" + body("a"))
    assert (answer.code, answer.text) == (1, "1 created, 0 there already, 1 failed\n")
    assert answer.err.startswith("-:2: the body is not valid JSON")


def test_a_file_of_many_parts_keeps_its_line_numbers(duly: Duly, tmp_path: Path) -> None:
    path = many(tmp_path / "jobs", 2500)
    with path.open("ab") as file:
        file.write(b"\n{}\n")
    answer = duly("jobs", "import", str(path))
    assert answer.text == "2500 created, 0 there already, 1 failed\n"
    assert answer.err.startswith(f"{path}:2502: ")


def test_a_name_that_is_taken_is_told(duly: Duly, tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    path.write_bytes(body("a") + b"\n" + body("a", priority=1))
    answer = duly("jobs", "import", str(path))
    assert answer.code == 1
    assert answer.err.startswith(f"{path}:2: the name 'a' belongs to job j1")


def test_twenty_failures_are_told_and_the_rest_counted(duly: Duly, tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    path.write_bytes(b"{\n" * 25)
    answer = duly("jobs", "import", str(path))
    told = answer.err.splitlines()
    assert [line.split(": ")[0] for line in told[:-1]] == [f"{path}:{n}" for n in range(1, 21)]
    assert told[-1] == "and 5 more"
    assert answer.text == "0 created, 0 there already, 25 failed\n"


def test_a_line_of_any_length_is_one_failure(duly: Duly, tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    path.write_bytes(b"x" * 3_000_000 + b"\n" + body("a") + b"\n" + b"x" * 3_000_000)
    answer = duly("jobs", "import", str(path))
    assert answer.text == "1 created, 0 there already, 2 failed\n"
    assert [line.split(": ")[0] for line in answer.err.splitlines()] == [f"{path}:1", f"{path}:3"]


def test_what_a_line_holds_cannot_steer_the_terminal(duly: Duly, tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    path.write_bytes(body("a", schedule="\x1b[2J"))
    answer = duly("jobs", "import", str(path))
    assert answer.code == 1
    assert "\x1b" not in answer.err


def test_a_file_that_cannot_be_read_is_a_mistake_of_usage(duly: Duly, tmp_path: Path) -> None:
    for path in (tmp_path / "nothing", tmp_path):
        answer = duly("jobs", "import", str(path))
        assert (answer.code, answer.text) == (2, "")
        assert str(path) in answer.err
    assert duly("jobs", "import").code == 2


def test_without_a_server_nothing_is_begun(alone: Duly, file: Path) -> None:
    answer = alone("jobs", "import", str(file), "--server", "http://127.0.0.1:9")
    assert (answer.code, answer.text) == (6, "")
    assert "no server answers" in answer.err


def test_a_wrong_token_is_told_also_for_an_empty_file(duly: Duly, tmp_path: Path) -> None:
    path = many(tmp_path / "jobs", 0)
    assert duly("jobs", "import", str(path)).text == "0 created, 0 there already, 0 failed\n"
    assert duly("jobs", "import", str(path), DULY_TOKEN="wrong").code == 5


def test_an_import_that_breaks_off_says_how_to_go_on(
    duly: Duly, data: Path, tmp_path: Path
) -> None:
    """The database fails after the first part: what is done stays, and the rest can be done."""
    path = many(tmp_path / "jobs", 1500)
    assert duly("jobs", "list").code == 0  # from here on the database is there
    with sqlite3.connect(data / "jobs.db") as database:
        database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON jobs WHEN new.name = 'job-1200' "
            "BEGIN SELECT abs(-9223372036854775808); END"
        )
    answer = duly("jobs", "import", str(path))
    assert answer.code == 1
    assert answer.text == "1000 created, 0 there already, 0 failed\n"
    assert "broken off after line 1000" in answer.err
    assert "run the same command again; jobs with a name are not made twice" in answer.err
    told = duly("jobs", "import", str(path), "--json")
    assert told.json == NOTHING | {"lines": 1000, "existing": 1000, "complete": False}
    database.execute("DROP TRIGGER full")
    database.close()
    again = duly("jobs", "import", str(path))
    assert (again.code, again.text) == (0, "500 created, 1000 there already, 0 failed\n")


def test_on_a_terminal_it_shows_how_far_it_is(server: str, data: Path, tmp_path: Path) -> None:
    path = many(tmp_path / "jobs", 1500)
    env = {**os.environ, "DULY_DATA": str(data), "TERM": "xterm", "COLUMNS": "100"}
    for source in (str(path), "-"):
        ours, theirs = pty.openpty()
        with path.open("rb") as stdin:
            done = subprocess.run(
                [sys.executable, "-m", "duly", "jobs", "import", source],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=theirs,
                env=env,
                timeout=60,
                check=False,
            )
        os.close(theirs)
        shown = os.read(ours, 65536).decode()
        os.close(ours)
        assert (done.returncode, b" failed\n" in done.stdout) == (0, True)
        assert "1,500 lines" in shown
        assert ("kB" in shown) == (source != "-")


def test_the_client_tells_of_lines_before_it_has_read_all(server: str, data: Path) -> None:
    read = 0

    def lines() -> Iterator[str | bytes]:
        nonlocal read
        for number in range(2500):
            read += 1
            line = body(f"job-{number}")
            yield line.decode() if number % 2 else line + b"\n"

    with Client(server, (data / "token").read_text().strip()) as client:
        told = client.import_jobs(lines())
        assert next(told) == {"line": 1, "id": "j1", "created": True}
        assert read < 2500
        assert [each["line"] for each in told] == list(range(2, 2501))
        bad = list(client.import_jobs(["\ud800", '{"a":\n1}']))
    assert [each["line"] for each in bad] == [1, 2, 3]
    assert [each["error"]["status"] for each in bad] == [400, 400, 400]
