"""Instants as typed and as shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from duly.cli.exits import InvalidInput
from duly.cli.times import lasting, local, next_run, read_moment, relative, stamp

NOW = datetime(2026, 10, 24, 12, tzinfo=UTC)
AMSTERDAM = ZoneInfo("Europe/Amsterdam")


def test_a_stamp_has_a_fraction_only_where_there_is_one() -> None:
    assert stamp(NOW) == "2026-10-24T12:00:00Z"
    assert stamp(NOW + timedelta(milliseconds=250)) == "2026-10-24T12:00:00.25Z"


def test_a_stamp_is_in_utc_whatever_the_zone() -> None:
    assert stamp(NOW.astimezone(AMSTERDAM)) == "2026-10-24T12:00:00Z"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-10-24T02:00:00Z", "2026-10-24T02:00:00Z"),
        ("2026-10-24t02:00:00z", "2026-10-24T02:00:00Z"),
        ("2026-10-24T02:00:00+05:30", "2026-10-23T20:30:00Z"),
        ("2026-10-24T02:00", "2026-10-24T00:00:00Z"),
        ("2026-10-24 02:00", "2026-10-24T00:00:00Z"),
        ("2026-10-24", "2026-10-23T22:00:00Z"),
    ],
)
def test_an_instant_without_an_offset_is_wall_time_of_the_zone(text: str, expected: str) -> None:
    assert stamp(read_moment(text, AMSTERDAM, option="--after")) == expected


@pytest.mark.parametrize("text", ["", "now", "2026-13-01", "24.10.2026", "0001-01-01T00:00+05:00"])
def test_what_is_no_instant_is_refused_with_the_forms_that_are(text: str) -> None:
    with pytest.raises(InvalidInput, match="write it like 2026-10-24T02:00:00Z"):
        read_moment(text, AMSTERDAM, option="--after")


def test_wall_time_names_its_zone() -> None:
    assert local(NOW, AMSTERDAM) == "2026-10-24 14:00:00 CEST"


@pytest.mark.parametrize(
    ("away", "expected"),
    [
        (timedelta(0), "now"),
        (timedelta(seconds=45), "in 45 s"),
        (timedelta(minutes=-5), "5 min ago"),
        (timedelta(hours=20), "in 20 h"),
        (timedelta(days=-9), "9 d ago"),
    ],
)
def test_how_far_off_is_told_in_one_unit(away: timedelta, expected: str) -> None:
    assert relative(NOW + away, NOW) == expected


def test_a_run_that_should_have_been_is_overdue_and_not_ago() -> None:
    assert next_run(NOW - timedelta(days=1), NOW, UTC) == (
        "2026-10-23 12:00:00 UTC (overdue by 24 h)"
    )


def test_a_run_due_this_second_is_not_overdue() -> None:
    assert next_run(NOW - timedelta(seconds=1), NOW, UTC) == "2026-10-24 11:59:59 UTC (now)"


def test_a_job_without_a_next_run_says_so() -> None:
    assert next_run(None, NOW, UTC) == "none"


def test_a_length_is_never_rounded_up() -> None:
    assert lasting(timedelta(seconds=59.9)) == "59 s"
