"""A run as JSON, and the run queue at a glance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from typing_extensions import TypedDict

from duly.job import Job, JobState, job_ref
from duly.run import Run, RunKey, Status, Try
from duly.store import Backlog, WorkerInfo
from duly.wire.durations import seconds, show_moment, show_optional

_OPEN = (Status.QUEUED, Status.RUNNING)

StatusName = Literal["queued", "running", "succeeded", "dead", "skipped", "canceled"]

RunDocument = TypedDict(
    "RunDocument",
    {
        "id": str,
        "job": str,
        "for": str,
        "due": str,
        "status": StatusName,
        "attempts": int,
        "worker": str | None,
        "queued": str,
        "started": str | None,
        "finished": str | None,
        "lateness_s": float | None,
        "exit_code": int | None,
        "signal": int | None,
        "reason": str | None,
        "manual": bool,
        "interruptions": int,
        "slots": int,
        "last_slot": str | None,
    },
)
"""A run, or the row that says why a slot (or `slots` of them, up to `last_slot`) got none."""


class TryDocument(TypedDict):
    """A try that did not succeed, or that was the run's last."""

    attempt: int
    outcome: Literal["succeeded", "failed", "timed_out", "lost", "interrupted", "canceled"]
    worker: str | None
    started: str | None
    finished: str
    exit_code: int | None
    signal: int | None
    reason: str | None


class RunWithTries(RunDocument):
    """A run and its tries, in order. A run that succeeded at once has none recorded."""

    tries: list[TryDocument]


class WorkerDocument(TypedDict):
    """A worker as it last reported. `silent_s` is how long ago that was."""

    id: str
    host: str
    pid: int
    queues: list[str]
    concurrency: int
    started: str
    beat: str
    silent_s: float


class RunCounts(TypedDict):
    """Runs by status, those that call for attention."""

    queued: int
    running: int
    dead: int


class StatusDocument(TypedDict):
    """The whole at a glance. `oldest_waiting_s` is the number that tells most."""

    jobs: dict[str, int]
    runs: RunCounts
    claimable: int
    oldest_waiting_s: float | None
    workers: list[WorkerDocument]
    term: int
    now: str
    version: str


def run_document(run: Run) -> RunDocument:
    """A run as the API shows it. `finished` is the run's end, not that of a try to be repeated."""
    # A queued run's `due` is that of its next try, its `started` that of the one before.
    late = None if run.started_at is None or run.status is Status.QUEUED else run.started_at
    return {
        "id": str(run.key),
        "job": job_ref(run.key.job_id),
        "for": show_moment(run.key.scheduled_for),
        "due": show_moment(run.due_at),
        "status": run.status.value,
        "attempts": run.attempts,
        "worker": run.worker,
        "queued": show_moment(run.queued_at),
        "started": show_optional(run.started_at),
        "finished": None if run.status in _OPEN else show_optional(run.finished_at),
        "lateness_s": None if late is None else seconds(late - run.due_at),
        "exit_code": run.exit_code,
        "signal": run.signal,
        "reason": run.reason,
        "manual": run.manual,
        "interruptions": run.interruptions,
        "slots": run.slots,
        "last_slot": show_optional(run.last_slot),
    }


def run_with_tries(run: Run, tries: Sequence[Try]) -> RunWithTries:
    return {**run_document(run), "tries": [_try_document(each) for each in tries]}


def triggered_document(job: Job, at: datetime) -> RunDocument:
    """The run that a trigger of `job` at that moment makes, known before it is saved."""
    return run_document(
        Run(
            key=RunKey(job.id, at),
            status=Status.QUEUED,
            due_at=at,
            queue=job.spec.queue,
            priority=job.spec.priority,
            manual=True,
            schedule_version=job.schedule_version,
            attempts=0,
            interruptions=0,
            worker=None,
            token=None,
            queued_at=at,
            started_at=None,
            finished_at=None,
            exit_code=None,
            signal=None,
            reason=None,
            slots=1,
            last_slot=None,
        )
    )


def status_document(
    *,
    jobs: Mapping[JobState, int],
    backlog: Backlog,
    workers: Sequence[WorkerInfo],
    term: int,
    now: datetime,
    version: str,
) -> StatusDocument:
    """The state of the whole, as GET /status shows it."""
    oldest = backlog.oldest_due
    return {
        "jobs": {state.value: jobs.get(state, 0) for state in JobState},
        "runs": {
            "queued": backlog.counts.get(Status.QUEUED, 0),
            "running": backlog.counts.get(Status.RUNNING, 0),
            "dead": backlog.counts.get(Status.DEAD, 0),
        },
        "claimable": backlog.claimable,
        "oldest_waiting_s": None if oldest is None else max(0.0, seconds(now - oldest)),
        "workers": [_worker_document(worker, now) for worker in workers],
        "term": term,
        "now": show_moment(now),
        "version": version,
    }


def _try_document(each: Try) -> TryDocument:
    return {
        "attempt": each.attempt,
        "outcome": each.outcome.value,
        "worker": each.worker,
        "started": show_optional(each.started_at),
        "finished": show_moment(each.finished_at),
        "exit_code": each.exit_code,
        "signal": each.signal,
        "reason": each.reason,
    }


def _worker_document(worker: WorkerInfo, now: datetime) -> WorkerDocument:
    return {
        "id": worker.id,
        "host": worker.host,
        "pid": worker.pid,
        "queues": list(worker.queues),
        "concurrency": worker.concurrency,
        "started": show_moment(worker.started_at),
        "beat": show_moment(worker.beat_at),
        "silent_s": max(0.0, seconds(now - worker.beat_at)),
    }
