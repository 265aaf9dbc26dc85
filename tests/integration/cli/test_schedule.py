"""`duly schedule`: needs no server, and says in JSON exactly what other programs read."""

from __future__ import annotations

import re

import pytest

from tests.integration.cli.conftest import Duly

STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


def test_json_is_an_array_of_utc_stamps(alone: Duly) -> None:
    answer = alone(
        *("schedule", "next", "30 2 * * *", "--tz", "Europe/Amsterdam"),
        *("--after", "2026-10-24T00:00:00Z", "--count", "3", "--json"),
    )
    assert (answer.code, answer.err) == (0, "")
    assert answer.json == ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]


def test_text_is_one_time_a_line_with_its_offset(alone: Duly) -> None:
    answer = alone(
        *("schedule", "next", "daily 02:30", "--tz", "Europe/Amsterdam"),
        *("--after", "2026-10-24T12:00", "--count", "2"),
    )
    assert answer.text == "2026-10-25T02:30:00+02:00\n2026-10-26T02:30:00+01:00\n"


def test_without_more_it_is_five_times_after_now_in_utc(alone: Duly) -> None:
    times = alone("schedule", "next", "hourly", "--json").json
    assert len(times) == 5
    assert all(STAMP.fullmatch(time) for time in times)


def test_after_is_wall_time_of_the_zone_unless_it_has_an_offset(alone: Duly) -> None:
    args = ("schedule", "next", "hourly", "--tz", "Asia/Tokyo", "--count", "1", "--json", "--after")
    assert alone(*args, "2026-10-24T09:00").json == ["2026-10-24T01:00:00Z"]
    assert alone(*args, "2026-10-24T09:00+00:00").json == ["2026-10-24T10:00:00Z"]


def test_gap_and_repeat_are_heeded(alone: Duly) -> None:
    args = ("schedule", "next", "30 2 * * *", "--tz", "Europe/Amsterdam", "--json", "--after")
    both = alone(*args, "2026-10-24T12:00Z", "--count", "2", "--repeat", "both").json
    assert both == ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]
    skip = alone(*args, "2026-03-28T12:00Z", "--count", "1", "--gap", "skip").json
    assert skip == ["2026-03-30T00:30:00Z"]


def test_a_schedule_that_ends_has_fewer_times(alone: Duly) -> None:
    args = ("schedule", "next", "at 2026-12-04T18:00", "--after")
    assert alone(*args, "2026-01-01", "--json").json == ["2026-12-04T18:00:00Z"]
    answer = alone(*args, "2027-01-01")
    assert (answer.code, answer.out) == (0, b"")
    assert "no time after" in answer.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["61 * * * *"], "61"),
        (["0 0 30 2 *"], "30"),
        (["@reboot"], "@reboot"),
        (["hourly", "--tz", "Europe/Amsterdm"], "Europe/Amsterdam"),
        (["hourly", "--after", "soon"], "--after 'soon'"),
        (["hourly", "--gap", "maybe"], "after, skip"),
        (["0", "2", "*", "*", "*"], "'0 2 * * *'"),
    ],
)
def test_what_is_wrong_is_said_with_what_would_be_right(
    alone: Duly, args: list[str], message: str
) -> None:
    for command in ("next", "explain"):
        answer = alone("schedule", command, *args)
        assert (answer.code, answer.out) == (2, b"")
        assert answer.err.startswith("duly: ")
        assert message in answer.err


def test_an_explanation_has_words_times_changes_and_warnings(alone: Duly) -> None:
    args = (
        "schedule",
        "explain",
        "30 2 * * *",
        "--tz",
        "Europe/Amsterdam",
        "--after",
        "2026-10-24",
    )
    lines = alone(*args).text.splitlines()
    assert lines[1].startswith("means: ")
    assert lines[3] == "  2026-10-24 02:30:00 CEST  2026-10-24T00:30:00Z"
    assert sum(line.startswith("  2026-10-") for line in lines) == 5
    change = next(line for line in lines if line.startswith("change: 2026-10-25 02:00:00 CET"))
    assert "from UTC+02:00 to UTC+01:00" in change
    assert "the first time" in change


def test_an_explanation_in_json_holds_the_same(alone: Duly) -> None:
    document = alone(
        *("schedule", "explain", "*/40 * * * *", "--after", "2026-10-24", "--count", "1", "--json")
    ).json
    assert document["next"] == ["2026-10-24T00:40:00Z"]
    assert document["next_local"] == ["2026-10-24T00:40:00+00:00"]
    assert document["timezone"] == "UTC"
    assert set(document) == {
        *("schedule", "timezone", "in_words", "next", "next_local", "changes", "warnings")
    }
