"""Runs in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from duly.cli.run_view import facts, result, row, took

NOW = datetime(2026, 10, 24, 12, tzinfo=UTC)
RUN: dict[str, Any] = {
    "id": "j1.20261024T110000Z",
    "status": "dead",
    "for": "2026-10-24T11:00:00Z",
    "started": "2026-10-24T11:00:00.25Z",
    "finished": "2026-10-24T11:00:01.5Z",
    "attempts": 2,
    "exit_code": 7,
    "signal": None,
    "reason": "exit code 7 after 2 tries",
    "slots": 1,
}


def test_a_row_tells_what_became_of_a_run() -> None:
    assert row(RUN, NOW, UTC) == (
        "j1.20261024T110000Z",
        "dead",
        "2026-10-24 11:00:00 UTC",
        "59 min ago",
        "1.250 s",
        2,
        "exit code 7, exit code 7 after 2 tries",
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"started": None}, ""),
        ({"status": "running", "finished": None}, "59 min"),
        ({"status": "queued", "finished": None}, ""),
        ({"finished": "2026-10-24T11:00:00Z"}, "0.000 s"),
    ],
)
def test_it_took_from_its_start_to_its_end_or_till_now(
    changes: dict[str, Any], expected: str
) -> None:
    assert took({**RUN, **changes}, NOW) == expected


def test_a_row_for_several_slots_says_how_many() -> None:
    assert result({"reason": "paused", "slots": 12}) == "paused, 12 slots"
    assert result({"reason": "missed: 12 slots", "slots": 12}) == "missed: 12 slots"


def test_a_signal_is_told_like_an_exit_code() -> None:
    assert result({"signal": 9, "exit_code": None, "reason": None}) == "signal 9"


def test_each_try_has_a_line() -> None:
    tries = [
        {"attempt": 1, "outcome": "failed", "finished": "2026-10-24T11:00:01Z", "exit_code": 7},
        {"attempt": 2, "outcome": "lost", "finished": "2026-10-24T11:05:00Z", "reason": "silent"},
    ]
    told = [value for name, value in facts({**RUN, "tries": tries}, NOW, UTC) if name == "try"]
    assert told == [
        "1: failed, 2026-10-24 11:00:01 UTC, exit code 7",
        "2: lost, 2026-10-24 11:05:00 UTC, silent",
    ]
