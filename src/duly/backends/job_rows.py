"""A job as its row, for every engine alike: a row is anything that is read by column names."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from duly.clock import instant, micros
from duly.encoding import (
    decode_command,
    decode_missed,
    decode_retry,
    encode_command,
    encode_missed,
    encode_retry,
    from_micros,
    to_micros,
)
from duly.job import Job, JobSpec, JobState, Overlap, Task
from duly.schedule import Gap, Repeat
from duly.store import NewJob


def spec_values(spec: JobSpec) -> dict[str, Any]:
    """The columns that hold what was asked for."""
    return {
        "name": spec.name,
        "description": spec.description,
        "schedule": spec.schedule,
        "timezone": spec.timezone,
        "gap": spec.gap.value,
        "repeat": spec.repeat.value,
        "starts_at": optional_micros(spec.starts_at),
        "ends_at": optional_micros(spec.ends_at),
        "command": encode_command(spec.command),
        "input": spec.input,
        "jitter": to_micros(spec.jitter),
        "overlap": spec.overlap.value,
        "missed": encode_missed(spec.missed),
        "retry": encode_retry(spec.retry),
        "timeout": to_micros(spec.timeout),
        "queue": spec.queue,
        "priority": spec.priority,
        "owner": spec.owner,
        "alert": spec.alert,
        "source": spec.source,
    }


def new_values(new: NewJob) -> dict[str, Any]:
    """The columns of a job to be added."""
    values = spec_values(new.spec)
    values["team"] = new.team
    values["jitter_offset"] = to_micros(new.jitter_offset)
    values["next_run_at"] = optional_micros(new.next_run_at)
    values["state"] = new.state.value
    return values


def changed_values(job: Job) -> dict[str, Any]:
    """The columns that a changed job is written over."""
    return spec_values(job.spec) | {
        "id": job.id,
        "jitter_offset": to_micros(job.jitter_offset),
        "next_run_at": optional_micros(job.next_run_at),
        "state": job.state.value,
        "schedule_version": job.schedule_version,
        "updated_at": micros(job.updated_at),
        "changed_at": micros(job.changed_at),
    }


def added_job(job_id: int, new: NewJob, at: datetime) -> Job:
    """The job as it was just stored, without reading it back."""
    return Job(
        id=job_id,
        team=new.team,
        spec=new.spec,
        state=new.state,
        jitter_offset=new.jitter_offset,
        next_run_at=new.next_run_at,
        schedule_version=1,
        version=1,
        created_at=at,
        updated_at=at,
        changed_at=at,
    )


def job_of(row: Any) -> Job:
    """The job that a row of `jobs`, with its `next_run_at`, holds."""
    spec = JobSpec(
        schedule=row["schedule"],
        command=decode_command(row["command"]),
        timezone=row["timezone"],
        name=row["name"],
        description=row["description"],
        gap=Gap(row["gap"]),
        repeat=Repeat(row["repeat"]),
        starts_at=optional_instant(row["starts_at"]),
        ends_at=optional_instant(row["ends_at"]),
        input=row["input"],
        jitter=from_micros(row["jitter"]),
        overlap=Overlap(row["overlap"]),
        missed=decode_missed(row["missed"]),
        retry=decode_retry(row["retry"]),
        timeout=from_micros(row["timeout"]),
        queue=row["queue"],
        priority=row["priority"],
        owner=row["owner"],
        alert=row["alert"],
        source=row["source"],
    )
    return Job(
        id=row["id"],
        team=row["team"],
        spec=spec,
        state=JobState(row["state"]),
        jitter_offset=from_micros(row["jitter_offset"]),
        next_run_at=optional_instant(row["next_run_at"]),
        schedule_version=row["schedule_version"],
        version=row["version"],
        created_at=instant(row["created_at"]),
        updated_at=instant(row["updated_at"]),
        changed_at=instant(row["changed_at"]),
    )


def task_of(row: Any) -> Task:
    """A row of the query `tasks`."""
    return Task(
        row[0],
        row[1],
        JobState(row[2]),
        row[3],
        row[4],
        decode_command(row[5]),
        row[6],
        from_micros(row[7]),
        decode_retry(row[8]),
    )


def optional_micros(moment: datetime | None) -> int | None:
    return None if moment is None else micros(moment)


def optional_instant(value: int | None) -> datetime | None:
    return None if value is None else instant(value)
