"""Register: from a request to a job with its first time.

One transaction of the jobs database holds the job, the uniqueness of its name and the answer to
its Idempotency-Key, so a crash before the answer leaves either all of it or nothing, and a client
that asks again gets the same job.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from duly.encoding import from_micros, to_micros
from duly.errors import NameTaken, NeverFires
from duly.job import Job, JobSpec
from duly.policy import first_slot
from duly.store import Added, JobStore, NewJob, RequestKey, StoredAnswer


async def register(
    jobs: JobStore,
    team: str,
    spec: JobSpec,
    *,
    now: datetime,
    request: RequestKey | None = None,
    answer: Callable[[Job], StoredAnswer] | None = None,
) -> Added:
    """Add the job, or find the one that this request already made.

    Raises:
        InvalidSchedule: the schedule cannot be read.
        NeverFires: it has no time after `now` within the job's bounds.
        NameTaken: the team has another job of this name.
        KeyReused: the Idempotency-Key came with another body before.
    """
    # A one-off that was registered once may be past by now: the same request again is no fault.
    known = await _namesake(jobs, team, spec)
    if known is not None:
        return Added(known, created=False)
    added = await jobs.add(_new_job(team, spec, now), request=request, answer=answer)
    if not added.created and added.job.spec != spec:
        raise NameTaken(spec.name or "", added.job.ref)
    return added


async def register_many(
    jobs: JobStore, team: str, specs: Sequence[JobSpec], *, now: datetime
) -> list[Added]:
    """Add many jobs in one transaction; a name that is taken is told by `created=False`.

    First times are computed once for each distinct schedule and bounds.
    """
    firsts: dict[tuple[object, ...], datetime] = {}
    new = []
    for spec in specs:
        offset = pick_offset(spec.jitter)
        first = firsts.get(spec.timing)
        if first is None:
            first = firsts[spec.timing] = first_run_at(spec, timedelta(0), now=now)
        new.append(NewJob(team, spec, offset, first + offset))
    return await jobs.add_many(new)


def pick_offset(jitter: timedelta) -> timedelta:
    """Where in [0, jitter) this job lies, to the millisecond, the same at every slot."""
    milliseconds = to_micros(jitter) // 1000
    return from_micros(random.randrange(milliseconds) * 1000) if milliseconds else timedelta(0)  # noqa: S311


def first_run_at(spec: JobSpec, offset: timedelta, *, now: datetime) -> datetime:
    """When the first slot after `now` falls due. Raises NeverFires where there is none."""
    slot = first_slot(spec.parsed(), after=now, starts_at=spec.starts_at, ends_at=spec.ends_at)
    if slot is None:
        bound = "" if spec.ends_at is None else f" up to its end {spec.ends_at:%Y-%m-%dT%H:%M:%SZ}"
        raise NeverFires(
            f"the schedule {spec.schedule!r} has no time after {now:%Y-%m-%dT%H:%M:%SZ}{bound}; "
            "give one that is still to come"
        )
    return slot + offset


async def _namesake(jobs: JobStore, team: str, spec: JobSpec) -> Job | None:
    if spec.name is None:
        return None
    job = await jobs.find(team, spec.name)
    if job is not None and job.spec != spec:
        raise NameTaken(spec.name, job.ref)
    return job


def _new_job(team: str, spec: JobSpec, now: datetime) -> NewJob:
    offset = pick_offset(spec.jitter)
    return NewJob(team, spec, offset, first_run_at(spec, offset, now=now))
