"""Real faults of other schedulers, each with the right times."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from duly.errors import InvalidSchedule
from duly.schedule import Gap, Repeat, next_times, parse

FILE = Path(__file__).parents[2] / "cases" / "schedules.jsonl"
CASES = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


def by_id(case: dict[str, Any]) -> str:
    return str(case["id"])


@pytest.mark.parametrize("case", [c for c in CASES if not c.get("refused")], ids=by_id)
def test_the_next_times_are_right(case: dict[str, Any]) -> None:
    gap, repeat = Gap(case.get("gap", "after")), Repeat(case.get("repeat", "first"))
    schedule = parse(case["schedule"], case["tz"], gap=gap, repeat=repeat)
    found = next_times(schedule, datetime.fromisoformat(case["after"]), max(1, len(case["next"])))
    assert [f"{slot:%Y-%m-%dT%H:%M:%SZ}" for slot in found] == case["next"], case["why"]


@pytest.mark.parametrize("case", [c for c in CASES if c.get("refused")], ids=by_id)
def test_what_cannot_be_meant_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchedule):
        parse(case["schedule"], case["tz"])
