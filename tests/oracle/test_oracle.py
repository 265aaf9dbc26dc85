"""The judge is judged: by the cases that the contract was written with, and by a plain walk."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.cron import parse_cron
from tests.oracle.expansion import expand, next_times
from tests.oracle.zones import wall

LINES = (Path(__file__).parent.parent / "cases" / "schedules.jsonl").read_text("utf-8").splitlines()
CASES = [case for case in map(json.loads, LINES) if not case.get("refused")]
LIMIT_DAYS = 40 * 366


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_the_oracle_gives_the_times_of_the_case(case: dict[str, Any]) -> None:
    after = datetime.fromisoformat(case["after"])
    expected = [datetime.fromisoformat(text) for text in case["next"]]

    actual = next_times(case["schedule"], case["tz"], after, len(expected) or 1, LIMIT_DAYS)

    assert expected == actual


@cache
def walked(zone: str, start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
    """Every second of a span, each with what the wall shows."""
    seconds = range(1, int((end - start).total_seconds()) + 1)
    instants = (start + timedelta(seconds=s) for s in seconds)
    shown = ((instant, wall(zone, instant)) for instant in instants)
    return [(instant, w) for instant, w in shown if w.second == 0]


@pytest.mark.parametrize("line", ["*/7 * * * *", "3,33 * * * *", "*/20 1-3 * * *"])
@pytest.mark.parametrize(
    ("zone", "change"),
    [
        ("America/New_York", datetime(2026, 11, 1, 6, tzinfo=UTC)),
        ("America/New_York", datetime(2026, 3, 8, 7, tzinfo=UTC)),
        ("Australia/Lord_Howe", datetime(2026, 4, 4, 15, tzinfo=UTC)),
        ("Antarctica/Troll", datetime(2026, 3, 29, 1, tzinfo=UTC)),
        ("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC)),
        ("America/Sao_Paulo", datetime(2018, 2, 18, 2, tzinfo=UTC)),
        ("Africa/Monrovia", datetime(1972, 1, 7, 0, 44, 30, tzinfo=UTC)),
    ],
)
def test_a_line_that_is_not_fixed_is_every_instant_whose_wall_time_matches(
    zone: str, change: datetime, line: str
) -> None:
    start, end = change - timedelta(hours=8), change + timedelta(hours=8)
    cron = parse_cron(line)
    expected = [
        instant
        for instant, w in walked(zone, start, end)
        if w.minute in cron.minutes and w.hour in cron.hours
    ]

    assert expected == expand(line, zone, start, end)
