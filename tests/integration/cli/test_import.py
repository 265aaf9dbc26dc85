"""`duly import crontab` against a real API: every line once, and nothing done twice."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.conftest import Duly

DEBIAN = Path(__file__).parents[2] / "data" / "debian"
DEBIAN_FILES = sorted(str(path) for path in DEBIAN.glob("*/*") if path.name != "README.md")
CASES = [
    json.loads(line)
    for line in (DEBIAN.parents[1] / "cases" / "crontab.jsonl").read_text().splitlines()
]
CRONTAB = """\
MAILTO=ops@example.com
# nightly dump of the shop
30 2 * * * /usr/local/bin/dump shop
0 5 * * * tidy
0 5 * * * tidy
@reboot warm-up
61 * * * * never
"""


@pytest.fixture
def crontab(tmp_path: Path) -> Path:
    path = tmp_path / "shop"
    path.write_text(CRONTAB)
    return path


def actions(report: Any) -> list[str]:
    return [entry["action"] for entry in report["jobs"]]


def test_each_line_becomes_a_job_that_behaves_as_under_cron(duly: Duly, crontab: Path) -> None:
    report = duly("import", "crontab", str(crontab), "--json").json
    assert [entry["name"] for entry in report["jobs"]] == ["shop/dump", "shop/tidy", "shop/tidy~2"]
    job = duly("jobs", "show", "shop/dump", "--json").json
    assert job["command"]["shell"] == "/usr/local/bin/dump shop"
    assert job["command"]["env"]["PATH"] == "/usr/bin:/bin"
    assert job["description"] == "nightly dump of the shop"
    assert (job["timezone"], job["owner"]) == ("Europe/Amsterdam", "ops@example.com")
    assert (job["overlap"], job["missed"]["policy"], job["retry"]["tries"], job["timeout"]) == (
        "allow",
        "skip",
        1,
        "7d",
    )
    assert job["source"] == f"crontab:{crontab}"


def test_lines_that_cannot_be_jobs_are_reported_and_the_exit_code_says_so(
    duly: Duly, crontab: Path
) -> None:
    answer = duly("import", "crontab", str(crontab), "--json")
    assert answer.code == 1
    assert [(told["file"], told["line"]) for told in answer.json["reported"]] == [
        (str(crontab), 6),
        (str(crontab), 7),
    ]


def test_a_second_import_changes_nothing(duly: Duly, crontab: Path) -> None:
    duly("import", "crontab", str(crontab))
    before = duly("jobs", "list", "--json").json
    report = duly("import", "crontab", str(crontab), "--json").json
    assert actions(report) == ["unchanged"] * 3
    assert report["gone"] == []
    after = duly("jobs", "list", "--json").json
    assert [job["version"] for job in after] == [job["version"] for job in before]
    assert len(after) == 3


def test_a_line_that_changed_changes_its_job(duly: Duly, crontab: Path) -> None:
    duly("import", "crontab", str(crontab))
    crontab.write_text(CRONTAB.replace("30 2 * * *", "45 2 * * *"))
    report = duly("import", "crontab", str(crontab), "--json").json
    assert actions(report) == ["changed", "unchanged", "unchanged"]
    assert report["jobs"][0]["changes"] == ["schedule"]
    assert duly("jobs", "show", "j1", "--json").json["schedule"] == "45 2 * * *"


def test_what_a_person_edited_beside_the_crontab_stays(duly: Duly, crontab: Path) -> None:
    duly("import", "crontab", str(crontab))
    duly("jobs", "edit", "shop/dump", "--timeout", "1h", "--retry", "never", "--name", "dump")
    duly("jobs", "pause", "dump")
    assert actions(duly("import", "crontab", str(crontab), "--json").json) == ["unchanged"] * 3
    job = duly("jobs", "show", "dump", "--json").json
    assert (job["timeout"], job["retry"], job["state"]) == ("1h", "never", "paused")


def test_a_job_without_its_line_is_kept_until_pruned(duly: Duly, crontab: Path) -> None:
    duly("import", "crontab", str(crontab))
    crontab.write_text("0 5 * * * tidy\n")
    report = duly("import", "crontab", str(crontab), "--json").json
    assert [(gone["id"], gone["action"]) for gone in report["gone"]] == [
        ("j1", "kept"),
        ("j3", "kept"),
    ]
    would = duly("import", "crontab", str(crontab), "--dry-run", "--prune", "--json").json
    assert [gone["action"] for gone in would["gone"]] == ["would_delete"] * 2
    answer = duly("import", "crontab", str(crontab), "--prune")
    assert answer.code == 0
    assert "2 deleted" in answer.text
    assert [job["id"] for job in duly("jobs", "list", "--json").json] == ["j2"]


def test_a_slip_in_a_line_does_not_cost_its_job(duly: Duly, tmp_path: Path) -> None:
    path = tmp_path / "shop"
    path.write_text("0 1 * * * a\n0 2 * * * b\n")
    duly("import", "crontab", str(path))
    path.write_text("0 1 * * * a\n0 99 * * * b\n")
    answer = duly("import", "crontab", str(path), "--prune")
    assert answer.code == 1
    assert "no longer in the file: j2 shop/b (kept, for it may be" in answer.text
    path.write_text("@reboot a\n0 1 * * * a\n")
    report = duly("import", "crontab", str(path), "--prune", "--json").json
    assert [(gone["id"], gone["action"]) for gone in report["gone"]] == [("j2", "deleted")]


def test_a_file_that_went_from_a_folder_leaves_jobs_that_are_told(
    duly: Duly, tmp_path: Path
) -> None:
    folder = tmp_path / "cron.d"
    folder.mkdir()
    (folder / "a").write_text("0 1 * * * root a\n")
    (folder / "b").write_text("0 1 * * * root b\n")
    duly("import", "crontab", str(folder))
    (folder / "b").unlink()
    report = duly("import", "crontab", str(folder), "--json").json
    assert [(gone["file"], gone["name"]) for gone in report["gone"]] == [
        (str(folder / "b"), "cron.d-b/b")
    ]


def test_a_name_that_another_job_has_is_numbered(duly: Duly, crontab: Path) -> None:
    duly("jobs", "add", "--name", "shop/dump", "--schedule", "hourly", "--shell", "x")
    report = duly("import", "crontab", str(crontab), "--json").json
    assert report["jobs"][0]["name"] == "shop/dump~2"


def test_a_crontab_can_come_through_a_pipe(duly: Duly) -> None:
    args = ("import", "crontab", "-", "--user", "bob", "--tz", "Asia/Tokyo", "--json")
    report = duly(*args, stdin=b"CRON_TZ=UTC\n0 7 * * * greet\n").json
    job = report["jobs"][0]
    assert (job["name"], job["user"], job["timezone"]) == ("crontab-bob/greet", "bob", "UTC")
    assert actions(duly(*args, stdin=b"CRON_TZ=UTC\n0 7 * * * greet\n").json) == ["unchanged"]


def test_a_dry_run_needs_no_server(alone: Duly, crontab: Path) -> None:
    answer = alone("import", "crontab", str(crontab), "--dry-run", "--json")
    assert actions(answer.json) == ["would_add"] * 3
    assert any("no server answers" in note for note in answer.json["notes"])
    assert answer.code == 1


def test_a_dry_run_changes_nothing_and_tells_what_would_change(duly: Duly, crontab: Path) -> None:
    duly("import", "crontab", str(crontab))
    before = duly("jobs", "list", "--json").json
    crontab.write_text(CRONTAB.replace("30 2", "45 2") + "0 9 * * * new\n")
    report = duly("import", "crontab", str(crontab), "--dry-run", "--json").json
    assert actions(report) == ["would_change", "unchanged", "unchanged", "would_add"]
    assert [job["version"] for job in duly("jobs", "list", "--json").json] == [
        job["version"] for job in before
    ]


def test_bytes_that_are_no_utf8_cost_one_line_only(duly: Duly, tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_bytes(b"# caf\xe9\n0 1 * * * fine\n0 2 * * * echo caf\xe9\n")
    answer = duly("import", "crontab", str(path), "--json")
    assert actions(answer.json) == ["added"]
    assert answer.json["jobs"][0]["description"] == "caf\ufffd"
    assert [told["line"] for told in answer.json["reported"]] == [3]


def test_a_line_that_the_server_refuses_costs_one_line_only(duly: Duly, tmp_path: Path) -> None:
    path = tmp_path / "odd"
    path.write_text(f"MAILTO={'x' * 300}\n0 1 * * * refused\nMAILTO=\n0 2 * * * fine\n")
    report = duly("import", "crontab", str(path), "--json").json
    assert [entry["shell"] for entry in report["jobs"]] == ["fine"]
    assert [told["line"] for told in report["reported"]] == [2]
    assert "/owner" in report["reported"][0]["message"]


def test_a_file_that_is_not_there_is_invalid_input(duly: Duly, tmp_path: Path) -> None:
    answer = duly("import", "crontab", str(tmp_path / "none"))
    assert (answer.code, answer.out) == (2, b"")
    assert str(tmp_path / "none") in answer.err


def test_the_report_in_words_names_zone_lines_and_sum(duly: Duly, crontab: Path) -> None:
    text = duly("import", "crontab", str(crontab)).text
    assert "lines without CRON_TZ are in Europe/Amsterdam (TZ)" in text
    assert "line 3: added j1 shop/dump  [30 2 * * *, Europe/Amsterdam]" in text
    assert "line 6: not imported" in text
    assert "7 days" in text
    assert text.splitlines()[-1] == "3 added, 2 not imported"


def job_lines(path: str) -> int:
    """Lines that are neither blank nor comments nor settings, told apart without the parser."""
    lines = [line.strip() for line in Path(path).read_text().splitlines()]
    starts = [line for line in lines if line and not line.startswith("#")]
    return sum(line[0] in "@*" or line[0].isdigit() for line in starts)


def test_of_debians_own_cron_files_nothing_is_lost_twice_over(duly: Duly) -> None:
    system = [path for path in DEBIAN_FILES if not path.endswith("sysstat/crontab")]
    dry = duly("import", "crontab", *system, "--system", "--dry-run", "--json").json
    first = duly("import", "crontab", *system, "--system", "--json").json
    second = duly("import", "crontab", *system, "--system", "--json").json

    read = Counter(entry["file"] for entry in first["jobs"] + first["reported"])
    assert read == Counter({path: n for path in system if (n := job_lines(path))})
    assert all(told["text"].startswith("@reboot") for told in first["reported"])
    assert set(actions(dry)) == {"would_add"}
    assert set(actions(first)) == {"added"}
    assert set(actions(second)) == {"unchanged"}
    assert second["gone"] == []
    assert [entry["name"] for entry in dry["jobs"]] == [entry["name"] for entry in first["jobs"]]
    jobs = duly("jobs", "list", "--limit", "0", "--json").json
    assert len(jobs) == len(first["jobs"])
    assert {job["id"] for job in jobs} == {entry["id"] for entry in second["jobs"]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_crontab_is_read_as_cron_reads_it(alone: Duly, case: dict[str, Any]) -> None:
    """The cases of crontab.jsonl, each with what it comes from."""
    system = ["--system"] if case["system"] else []
    args = ("import", "crontab", "-", "--dry-run", "--json", "--tz", "UTC", *system)
    report = alone(*args, stdin=case["file"].encode()).json

    assert len(report["jobs"]) == len(case["jobs"])
    for entry, expected in zip(report["jobs"], case["jobs"], strict=True):
        env = {**entry["env"], **expected.get("env", {})}
        assert {**entry, **expected, "env": env} == entry
    assert [told["line"] for told in report["reported"]] == case["reported_lines"]


def test_a_report_is_one_json_document(duly: Duly, crontab: Path) -> None:
    document = json.loads(duly("import", "crontab", str(crontab), "--json").out)
    assert set(document) >= {"files", "jobs", "reported", "warnings", "gone"}
