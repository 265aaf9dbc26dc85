"""Where the command line asks, and with which token."""

from __future__ import annotations

from pathlib import Path

import pytest

from duly.cli.connection import Connection, find
from duly.cli.exits import InvalidInput


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "address").write_text("http://127.0.0.1:9999\n")
    (tmp_path / "token").write_text("duly_file\n")
    return tmp_path


def test_address_and_token_come_from_the_data_folder(folder: Path) -> None:
    assert find(None, folder, {}) == Connection(
        "http://127.0.0.1:9999", "duly_file", str(folder / "token")
    )


def test_the_environment_goes_before_the_data_folder(folder: Path) -> None:
    environ = {"DULY_URL": "https://duly.example", "DULY_TOKEN": "duly_env"}
    assert find(None, folder, environ) == Connection(
        "https://duly.example", "duly_env", "DULY_TOKEN"
    )


def test_the_option_goes_before_the_environment(folder: Path) -> None:
    found = find("http://option:1", folder, {"DULY_URL": "https://duly.example"})
    assert found.url == "http://option:1"


def test_the_environment_names_the_data_folder(folder: Path) -> None:
    assert find(None, None, {"DULY_DATA": str(folder)}).token_from == str(folder / "token")


def test_without_anything_the_server_is_on_this_machine(tmp_path: Path) -> None:
    found = find(None, None, {"XDG_DATA_HOME": str(tmp_path)})
    assert found == Connection("http://127.0.0.1:7437", "", str(tmp_path / "duly" / "token"))


@pytest.mark.parametrize("url", ["localhost:7437", "ftp://x", "http://", "http:// x"])
def test_an_address_that_is_none_is_refused_with_one_that_is(url: str, folder: Path) -> None:
    with pytest.raises(InvalidInput, match=r"write it like http://127\.0\.0\.1:7437"):
        find(url, folder, {})


def test_a_token_that_no_header_can_carry_is_refused_by_its_origin(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="DULY_TOKEN"):
        find(None, folder, {"DULY_TOKEN": "a\nb"})
