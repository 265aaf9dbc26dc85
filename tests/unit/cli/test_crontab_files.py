"""Which files an import reads, and as what."""

from __future__ import annotations

from pathlib import Path

import pytest

from duly.cli.crontab_files import CrontabFile, collect, machine_zone
from duly.cli.exits import InvalidInput


def no_stdin() -> bytes:
    raise AssertionError("standard input was read")


def test_a_file_is_a_users_crontab_unless_told(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("* * * * * x\n")
    found = collect([str(tmp_path / "mine")], system=False, user="bob", read_stdin=no_stdin)
    assert found.files == (CrontabFile(str(tmp_path / "mine"), "* * * * * x\n", False, "bob"),)


def test_a_folder_holds_system_crontabs_in_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).write_text("")
    found = collect([str(tmp_path)], system=False, user=None, read_stdin=no_stdin)
    assert [(Path(file.path).name, file.system) for file in found.files] == [
        ("a", True),
        ("b", True),
    ]


def test_of_a_folder_only_what_cron_runs_is_read(tmp_path: Path) -> None:
    for name in (".placeholder", "foo.dpkg-old", "README.md", "ok_1-x", "backup~"):
        (tmp_path / name).write_text("")
    (tmp_path / "sub").mkdir()
    found = collect([str(tmp_path)], system=False, user=None, read_stdin=no_stdin)
    assert [Path(file.path).name for file in found.files] == ["ok_1-x"]
    assert [Path(left.path).name for left in found.skipped] == [
        ".placeholder",
        "README.md",
        "backup~",
        "foo.dpkg-old",
        "sub",
    ]


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    found = collect(
        [str(tmp_path), str(tmp_path / "a")], system=True, user=None, read_stdin=no_stdin
    )
    assert len(found.files) == 1


def test_standard_input_is_a_crontab(tmp_path: Path) -> None:
    found = collect(["-"], system=False, user="bob", read_stdin=lambda: b"* * * * * x\n")
    assert found.files == (CrontabFile("-", "* * * * * x\n", False, "bob"),)


def test_bytes_that_are_no_utf8_survive_reading(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"* * * * * caf\xe9\n")
    found = collect([str(tmp_path / "a")], system=False, user=None, read_stdin=no_stdin)
    assert found.files[0].text == "* * * * * caf\udce9\n"


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"cannot read .*/none: No such file"):
        collect([str(tmp_path / "none")], system=False, user=None, read_stdin=no_stdin)


def test_a_broken_link_in_a_folder_is_told_and_the_rest_read(tmp_path: Path) -> None:
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    (tmp_path / "fine").write_text("")
    found = collect([str(tmp_path)], system=False, user=None, read_stdin=no_stdin)
    assert [Path(file.path).name for file in found.files] == ["fine"]
    assert [left.message for left in found.unreadable] == [
        "cannot be read: No such file or directory"
    ]


@pytest.mark.parametrize(
    ("path", "user", "source", "label"),
    [
        ("/etc/cron.d/sysstat", None, "crontab:/etc/cron.d/sysstat", "cron.d-sysstat"),
        ("/etc/crontab", None, "crontab:/etc/crontab", "crontab"),
        ("/home/bob/jobs.cron", "bob", "crontab:/home/bob/jobs.cron", "jobs.cron"),
        (
            "/var/spool/cron/crontabs/bob",
            "bob",
            "crontab:/var/spool/cron/crontabs/bob",
            "crontab-bob",
        ),
        ("-", None, "crontab:-", "crontab"),
        ("-", "bob", "crontab:-:bob", "crontab-bob"),
    ],
)
def test_source_and_label_say_where_a_job_comes_from(
    path: str, user: str | None, source: str, label: str
) -> None:
    file = CrontabFile(path, "", system=False, user=user)
    assert (file.source, file.label) == (source, label)


def zones(name: str) -> bool:
    return name in {"Europe/Paris", "Asia/Tokyo", "Etc/UTC"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    return tmp_path


def test_the_machines_zone_is_first_what_tz_says(root: Path) -> None:
    (root / "etc/timezone").write_text("Asia/Tokyo\n")
    assert machine_zone(":Europe/Paris", known=zones, root=root) == ("Europe/Paris", "TZ")


def test_a_tz_that_is_no_zone_name_is_passed_over(root: Path) -> None:
    (root / "etc/timezone").write_text("Asia/Tokyo\n")
    assert machine_zone("CET-1CEST", known=zones, root=root) == ("Asia/Tokyo", "/etc/timezone")


def test_the_link_of_localtime_names_the_zone(root: Path) -> None:
    (root / "etc/localtime").symlink_to("/usr/share/zoneinfo/Europe/Paris")
    assert machine_zone(None, known=zones, root=root) == ("Europe/Paris", "/etc/localtime")


def test_a_machine_without_a_zone_is_in_utc(root: Path) -> None:
    (root / "etc/localtime").write_bytes(b"TZif2")
    assert machine_zone(None, known=zones, root=root)[0] == "UTC"
