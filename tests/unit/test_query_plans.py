"""The hot statements read what they need and nothing else, whatever the tables hold.

L028: each poll of waiting runs cost others half a second at a million rows.
"""

from __future__ import annotations

import sqlite3
from importlib.resources import files
from typing import Any

import pytest

from duly.backends import named_queries

HOT = [
    ("jobs", "due_jobs", {"before": 1, "limit": 1}, "timers_due"),
    ("jobs", "versions", ("[]",), "INTEGER PRIMARY KEY"),
    ("jobs", "tasks", ("[]",), "INTEGER PRIMARY KEY"),
    (
        "jobs",
        "advance_timers",
        {"next_run_at": 1, "schedule_version": 1, "ids": "[]"},
        "INTEGER PRIMARY KEY",
    ),
    ("jobs", "advance_jittered_timers", {"schedule_version": 1, "pairs": "[]"}, "INTEGER PRIMARY"),
    ("runs", "claimable", ("q", 1, 2, 3), "runs_due (queue=? AND priority=? AND due_at<?)"),
    ("runs", "lanes", ('["q"]',), "runs_due (queue=? AND priority=?)"),
    ("runs", "open_runs", {"ids": "[]"}, "runs_open (job_id=?)"),
    (
        "runs",
        "claim_runs",
        {"worker": "w", "first_token": 1, "now": 1, "pairs": "[]"},
        "PRIMARY KEY (scheduled_for=? AND job_id=?)",
    ),
    ("runs", "settle_runs", ("[]",), "PRIMARY KEY (scheduled_for=? AND job_id=?)"),
    ("runs", "settle_successes", ("[]",), "PRIMARY KEY (scheduled_for=? AND job_id=?)"),
    ("runs", "lost_runs", {"alive_since": 1, "limit": 1}, "runs_open"),
    (
        "runs",
        "list_runs_of_job",
        {"job_id": 1, "status": None, "since": 0, "until": 9, "before_slot": 9, "limit": 1},
        "runs_of_job (job_id=? AND scheduled_for>? AND scheduled_for<?)",
    ),
]


@pytest.mark.parametrize(("schema", "query", "values", "index"), HOT, ids=lambda v: str(v)[:24])
def test_a_hot_statement_goes_by_its_index(
    schema: str, query: str, values: Any, index: str
) -> None:
    scripts = files("duly.backends.sqlite.migrations").iterdir()
    database = sqlite3.connect(":memory:")
    for script in sorted(scripts, key=lambda script: script.name):
        if script.name.startswith(f"{schema}_"):
            database.executescript(script.read_text("utf-8"))
    sql = named_queries.load("duly.backends.sqlite", f"{schema}.sql")[query]
    plan = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    database.close()
    assert any(index in step for step in plan), plan
    assert not any(step.startswith(("SCAN jobs", "SCAN timers")) for step in plan), plan
    # Only a batch that was cut off already may be sorted, into its groups.
    assert query == "due_jobs" or not any("TEMP B-TREE" in step for step in plan), plan
