"""What the command line says where it cannot get through."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Duly


def test_without_a_server_it_says_how_to_start_one(alone: Duly) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    answer = alone("jobs", "list", "--server", url)
    assert (answer.code, answer.out) == (6, b"")
    assert answer.err.startswith(f"duly: no server answers at {url}")
    assert "duly up" in answer.err
    assert "Traceback" not in answer.err


def test_without_a_token_it_says_where_one_would_be(
    server: str, alone: Duly, tmp_path: Path
) -> None:
    answer = alone("status", "--server", server, "--data", str(tmp_path / "elsewhere"))
    assert answer.code == 5
    assert str(tmp_path / "elsewhere" / "token") in answer.err


def test_a_wrong_token_is_told_by_its_origin(duly: Duly) -> None:
    answer = duly("status", DULY_TOKEN="wrong")
    assert answer.code == 5
    assert "DULY_TOKEN" in answer.err
    assert "wrong" not in answer.err


def test_the_address_can_come_from_the_environment(duly: Duly, server: str, data: Path) -> None:
    (data / "address").unlink()
    assert duly("status", DULY_URL=server).code == 0


def test_a_proxy_of_the_environment_is_not_asked(duly: Duly) -> None:
    assert duly("status", http_proxy="http://127.0.0.1:9").code == 0


def test_with_json_an_error_is_one_document_on_standard_error(duly: Duly) -> None:
    answer = duly("jobs", "show", "j9", "--json")
    assert (answer.code, answer.out) == (3, b"")
    assert json.loads(answer.err)["status"] == 404


def test_something_else_on_the_port_is_told_apart(alone: Duly, tmp_path: Path) -> None:
    answer = alone("jobs", "list", "--server", "localhost:7437")
    assert answer.code == 2
    assert "http://127.0.0.1:7437" in answer.err


def test_status_names_the_server_and_what_waits(duly: Duly, server: str) -> None:
    text = duly("status").text
    assert server in text
    assert "jobs active" in text
    assert "claimable" in duly("status", "--json").json


@pytest.mark.parametrize("args", [["jobs", "add"], ["nonsense"], ["jobs", "list", "--limit", "-1"]])
def test_wrong_usage_is_exit_code_2(alone: Duly, args: list[str]) -> None:
    answer = alone(*args)
    assert (answer.code, answer.out) == (2, b"")
    assert "Traceback" not in answer.err


def test_the_exit_codes_are_in_the_help(alone: Duly) -> None:
    text = " ".join(alone("--help", COLUMNS="200").text.split())
    assert "Exit codes: 0 done; 1 the operation failed" in text
    for group in ("jobs", "runs", "status", "schedule", "import", "up"):
        assert f"│ {group} " in text
