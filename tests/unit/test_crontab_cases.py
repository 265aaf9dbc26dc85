"""Real crontabs that other readers got wrong, each with what it means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from duly.crontab import CronLine, read

FILE = Path(__file__).parents[1] / "cases" / "crontab.jsonl"
CASES = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_a_crontab_means_what_crontab_5_says(case: dict[str, Any]) -> None:
    found = read(case["file"], system=case["system"])
    assert [fault.number for fault in found.faults] == case["reported_lines"], case["why"]
    told = [_told(line, job) for line, job in zip(found.lines, case["jobs"], strict=True)]
    assert told == case["jobs"], case["why"]


def _told(line: CronLine, job: dict[str, Any]) -> dict[str, Any]:
    """What the case speaks of, as it was read."""
    told = {key: getattr(line, key) for key in job}
    if "env" in told:
        told["env"] = {name: line.env.get(name) for name in job["env"]}
    return told
