"""Decisions that the flow tests do not reach."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from duly.job import Command, Job, JobSpec, JobState
from duly.policy import next_start

NOW = datetime(2026, 10, 24, 2, 0, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def job(schedule: str, *, state: str = "active", due: datetime | None = None, **spec: int) -> Job:
    return Job(
        id=1,
        team="ops",
        spec=JobSpec(schedule=schedule, command=Command(name="x")),
        state=JobState(state),
        jitter_offset=timedelta(seconds=spec.get("offset_s", 0)),
        next_run_at=due,
        schedule_version=1,
        version=1,
        created_at=NOW - MINUTE,
        updated_at=NOW - MINUTE,
        changed_at=NOW - MINUTE,
    )


def test_the_next_start_is_the_next_run_also_where_it_is_planned_already() -> None:
    planned_far_ahead = job("every minute", due=NOW + 9 * MINUTE)
    assert next_start(planned_far_ahead, now=NOW) == datetime(2026, 10, 24, 2, 1, tzinfo=UTC)


def test_the_next_start_counts_the_jitter_in() -> None:
    given = job("every minute", due=NOW + 9 * MINUTE, offset_s=40)
    assert next_start(given, now=NOW) == datetime(2026, 10, 24, 2, 0, 40, tzinfo=UTC)


def test_a_last_run_that_is_planned_is_still_to_come() -> None:
    given = job("at 2026-10-24T02:00:40", state="ended")
    assert next_start(given, now=NOW) == datetime(2026, 10, 24, 2, 0, 40, tzinfo=UTC)
    assert next_start(given, now=NOW + MINUTE) is None


def test_what_planning_owes_is_told_as_it_stands() -> None:
    assert next_start(job("every minute", due=NOW - MINUTE), now=NOW) == NOW - MINUTE


def test_a_paused_job_has_no_next_start() -> None:
    paused = replace(job("every minute"), state=JobState.PAUSED)
    assert next_start(paused, now=NOW) is None
