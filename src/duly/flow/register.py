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
from duly.errors import DulyError, InvalidSchedule, NameTaken, NeverFires
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
    outcome = _own(added, spec)
    if isinstance(outcome, NameTaken):
        raise outcome
    return outcome


async def register_many(
    jobs: JobStore, team: str, specs: Sequence[JobSpec], *, now: datetime
) -> list[Added | DulyError]:
    """Add many jobs in one transaction; for each what `register` would give, or raise.

    A fault (InvalidSchedule, NeverFires, NameTaken) is that job's own and harms no other. First
    times are computed once for each distinct timing. Safe to repeat: a job with a name is found.
    """
    firsts: dict[tuple[object, ...], datetime | InvalidSchedule] = {}
    faults: list[InvalidSchedule | None] = []
    new = []
    for spec in specs:
        timing = spec.timing
        first = firsts.get(timing)
        if first is None:
            first = firsts[timing] = _first_or_fault(spec, now)
        if isinstance(first, InvalidSchedule):
            faults.append(first)
            continue
        faults.append(None)
        offset = pick_offset(spec.jitter)
        new.append(NewJob(team, spec, offset, first + offset))
    added = iter(await jobs.add_many(new) if new else [])
    return [
        _own(next(added), spec) if fault is None else await _found(jobs, team, spec, fault)
        for spec, fault in zip(specs, faults, strict=True)
    ]


def pick_offset(jitter: timedelta) -> timedelta:
    """Where in [0, jitter) this job lies, to the millisecond, the same at every slot."""
    if not jitter:
        return jitter
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


def _own(added: Added, spec: JobSpec) -> Added | NameTaken:
    """What was added or found, unless what was found is another job of that name."""
    if added.created or added.job.spec == spec:
        return added
    return NameTaken(spec.name or "", added.job.ref)


async def _found(
    jobs: JobStore, team: str, spec: JobSpec, fault: InvalidSchedule
) -> Added | DulyError:
    """The job that a spec without a time to come once made; where there is none, its fault."""
    try:
        known = await _namesake(jobs, team, spec)
    except NameTaken as taken:
        return taken
    return fault if known is None else Added(known, created=False)


def _first_or_fault(spec: JobSpec, now: datetime) -> datetime | InvalidSchedule:
    try:
        return first_run_at(spec, timedelta(0), now=now)
    except InvalidSchedule as fault:
        return fault


def _new_job(team: str, spec: JobSpec, now: datetime) -> NewJob:
    offset = pick_offset(spec.jitter)
    return NewJob(team, spec, offset, first_run_at(spec, offset, now=now))
