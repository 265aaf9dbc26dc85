"""A job as JSON."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from duly.errors import InvalidSchedule
from duly.job import Command, Job, JobState, Missed, Retry
from duly.policy import next_start
from duly.wire.durations import seconds, show_duration, show_moment, show_optional
from duly.wire.schedules import tell_schedule

# Planning moves a job on seconds before it is due; a time that lies back further is no ripple.
OVERDUE_AFTER = timedelta(seconds=5)


class CommandDocument(TypedDict):
    """A program with its arguments, or a text for the shell, and its surroundings."""

    exec: NotRequired[list[str]]
    shell: NotRequired[str]
    cwd: NotRequired[str]
    env: NotRequired[dict[str, str]]
    stdin: NotRequired[str]
    user: NotRequired[str]


class MissedDocument(TypedDict):
    """What becomes of slots that nobody planned in time."""

    policy: Literal["catch_up", "latest", "skip"]
    grace: str
    window: str


class RetryDocument(TypedDict):
    """How often a failing run is tried, and how long after each failure."""

    tries: int
    backoff: str
    cap: str


class JobDocument(TypedDict):
    """A job. `overdue_s` and `overdue_reason` stand there only where its next run is overdue."""

    id: str
    name: str | None
    schedule: str
    timezone: str
    in_words: str | None
    gap: Literal["after", "skip"]
    repeat: Literal["first", "second", "both"]
    command: str | CommandDocument
    input: Any
    jitter: str
    overlap: Literal["skip", "allow"]
    missed: MissedDocument
    retry: Literal["never"] | RetryDocument
    timeout: str
    queue: str
    priority: int
    owner: str | None
    description: str | None
    alert: Literal["owner", "none"]
    starts_at: str | None
    ends_at: str | None
    source: str | None
    state: Literal["active", "paused", "ended", "deleted"]
    next_run: str | None
    overdue_s: NotRequired[float]
    overdue_reason: NotRequired[str]
    version: int
    created: str
    updated: str
    warnings: list[str]


def job_document(job: Job, *, now: datetime, term: int | None = None) -> JobDocument:
    """A job as the API shows it.

    Args:
        now: decides whether its next run is overdue.
        term: the scheduler's latest term, where the caller looked; it tells why a run is overdue.
    """
    spec = job.spec
    in_words, warnings = tell_schedule(spec, now)
    document: JobDocument = {
        "id": job.ref,
        "name": spec.name,
        "schedule": spec.schedule,
        "timezone": spec.timezone,
        "in_words": in_words,
        "gap": spec.gap.value,
        "repeat": spec.repeat.value,
        "command": command_document(spec.command),
        "input": None if spec.input is None else json.loads(spec.input),
        "jitter": show_duration(spec.jitter),
        "overlap": spec.overlap.value,
        "missed": missed_document(spec.missed),
        "retry": retry_document(spec.retry),
        "timeout": show_duration(spec.timeout),
        "queue": spec.queue,
        "priority": spec.priority,
        "owner": spec.owner,
        "description": spec.description,
        "alert": spec.alert,
        "starts_at": show_optional(spec.starts_at),
        "ends_at": show_optional(spec.ends_at),
        "source": spec.source,
        "state": job.state.value,
        "next_run": show_optional(_next_run(job, now)),
        "version": job.version,
        "created": show_moment(job.created_at),
        "updated": show_moment(job.updated_at),
        "warnings": list(warnings),
    }
    if is_overdue(job, now) and job.next_run_at is not None:
        document["overdue_s"] = seconds(now - job.next_run_at)
        document["overdue_reason"] = _overdue_reason(term)
    return document


def is_overdue(job: Job, now: datetime) -> bool:
    """Whether the job should have been planned by now, and was not."""
    return (
        job.state is JobState.ACTIVE
        and job.next_run_at is not None
        and job.next_run_at < now - OVERDUE_AFTER
    )


def command_document(command: Command) -> str | CommandDocument:
    """A command in the form in which it was given."""
    if command.name is not None:
        return command.name
    document: CommandDocument = {}
    if command.exec is not None:
        document["exec"] = list(command.exec)
    if command.shell is not None:
        document["shell"] = command.shell
    if command.cwd is not None:
        document["cwd"] = command.cwd
    if command.env:
        document["env"] = dict(command.env)
    if command.stdin is not None:
        document["stdin"] = command.stdin
    if command.user is not None:
        document["user"] = command.user
    return document


def missed_document(missed: Missed) -> MissedDocument:
    return {
        "policy": missed.policy.value,
        "grace": show_duration(missed.grace),
        "window": show_duration(missed.window),
    }


def retry_document(retry: Retry) -> Literal["never"] | RetryDocument:
    if not retry.safe:
        return "never"
    return {
        "tries": retry.tries,
        "backoff": show_duration(retry.backoff),
        "cap": show_duration(retry.cap),
    }


def _next_run(job: Job, now: datetime) -> datetime | None:
    try:
        return next_start(job, now=now)
    except InvalidSchedule:
        # Not readable any more, see `tell_schedule`: what is stored is all there is to show.
        return job.next_run_at


def _overdue_reason(term: int | None) -> str:
    if term == 0:
        return "no scheduler has ever run on this data; start one with `duly up`"
    return (
        "no scheduler has planned it yet: none is running, or it is behind; "
        "it is planned by its missed policy as soon as one is"
    )
