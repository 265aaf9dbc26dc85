"""Plan: save a run for each job due within the horizon, then move the job on.

Runs are saved first and jobs moved second, in two databases. A crash between the two leaves jobs
that are planned again; the key (job, slot) refuses the second row. A job that was edited after it
was read is not moved (its `schedule_version` differs), and a leader whose term is over moves none.

Next times are computed once per distinct (schedule, zone, slot), not once per job: a million daily
jobs cost one computation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from duly.clock import instant, micros
from duly.encoding import decode_missed, from_micros
from duly.events import Event, Planned, PlanRefused
from duly.policy import Skipped, plan_slot
from duly.run import PlannedRun, PlannedSlot, Status
from duly.schedule import Gap, Repeat, parse
from duly.store import DueJob, JobStore, Move, RunStore

# Fewer jobs than this are not worth two transactions.
_ONE_PART = 500


@dataclass(frozen=True, slots=True)
class PlanPass:
    """What one batch of planning did.

    Args:
        read: jobs that were due within the horizon; fewer than the batch: nothing is left.
        moved: jobs set on; 0 of many means that this leader's term is over.
    """

    read: int
    moved: int
    events: tuple[Event, ...] = ()


async def plan(
    jobs: JobStore,
    runs: RunStore,
    *,
    term: int,
    now: datetime,
    horizon: timedelta,
    batch: int = 1000,
) -> PlanPass:
    """Plan up to `batch` jobs that fall due by `now + horizon`, the earliest first.

    Args:
        term: the leader's term, checked in the statement that moves the jobs.
        now: the jobs database's clock.
    """
    due = await jobs.due(now + horizon, limit=batch)
    if not due:
        return PlanPass(0, 0)
    # One half is saved while the other is moved on: the two databases work at the same time.
    halves = (due[: len(due) // 2], due[len(due) // 2 :]) if len(due) > _ONE_PART else (due,)
    told = await asyncio.gather(
        *(_plan_part(jobs, runs, part, term=term, now=now) for part in halves),
        return_exceptions=True,  # so that no half goes on once this has returned
    )
    done = [each for each in told if isinstance(each, Planned)]
    for each in told:
        if isinstance(each, BaseException):
            raise each
    moved = sum(each.moved for each in done)
    refused = (PlanRefused(jobs=len(due) - moved, term=term),) if moved < len(due) else ()
    return PlanPass(len(due), moved, (*done, *refused))


async def _plan_part(
    jobs: JobStore, runs: RunStore, due: Sequence[DueJob], *, term: int, now: datetime
) -> Planned:
    decided = _decide(due, now)
    saved = await runs.save(decided.skipped) if decided.skipped else 0
    saved += await runs.save_slots(decided.slots) if decided.slots else 0
    moved = await jobs.advance(decided.moves, term=term)
    skipped = sum(row.slots for row in decided.skipped)
    return Planned(saved=saved, moved=moved, skipped_slots=skipped)


class _Decided(NamedTuple):
    """What a batch comes to."""

    slots: list[PlannedSlot]
    skipped: list[PlannedRun]
    moves: list[Move]


class _Group(NamedTuple):
    """Jobs that share all that decides: the first of them, and the ids and offsets of all."""

    first: DueJob
    slot_us: int
    job_ids: list[int]
    offsets_us: list[int]


def _decide(due: Sequence[DueJob], now: datetime) -> _Decided:
    """Group the jobs by all that decides about them, and decide once for each group."""
    now_us = micros(now)
    groups: dict[tuple[object, ...], _Group] = {}
    for job in due:
        offset_us = job.offset_us
        slot_us = job.next_run_us - offset_us
        # Whether a late slot counts as missed depends on the offset; an on-time one never does.
        late = offset_us if job.next_run_us < now_us else None
        key = (slot_us, late, *job[1:7], *job[9:])
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group(job, slot_us, [], [])
        group.job_ids.append(job.id)
        group.offsets_us.append(offset_us)
    decided = _Decided([], [], [])
    for group in groups.values():
        job, case = group.first, _case(group.first, group.slot_us, now)
        version = job.schedule_version
        ids, offsets_us = group.job_ids, group.offsets_us
        if case.skipped is not None:
            row = _skipped_row(job, case.skipped)
            decided.skipped.extend(row._replace(job_id=job_id) for job_id in ids)
        if case.run_us is not None:
            decided.slots.append(
                PlannedSlot(
                    case.run_us, job.queue, job.priority, job.exclusive, version, ids, offsets_us
                )
            )
        decided.moves.append(Move(case.next_us, version, ids, offsets_us))
    return decided


class _Case(NamedTuple):
    """A `SlotPlan` in the planner's units."""

    run_us: int | None
    skipped: Skipped | None
    next_us: int | None


def _case(job: DueJob, slot_us: int, now: datetime) -> _Case:
    decided = plan_slot(
        parse(job.schedule, job.timezone, gap=Gap(job.gap), repeat=Repeat(job.repeat)),
        instant(slot_us),
        now=now,
        offset=from_micros(job.offset_us),
        missed=decode_missed(job.missed),
        ends_at=None if job.ends_us is None else instant(job.ends_us),
    )
    return _Case(
        None if decided.run is None else micros(decided.run),
        decided.skipped,
        None if decided.next_slot is None else micros(decided.next_slot),
    )


def _skipped_row(job: DueJob, skipped: Skipped) -> PlannedRun:
    first_us = micros(skipped.first)
    return PlannedRun(
        job.id,
        first_us,
        first_us + job.offset_us,
        job.queue,
        job.priority,
        job.exclusive,
        job.schedule_version,
        status=Status.SKIPPED.value,
        reason=skipped.reason,
        slots=skipped.count,
        last_slot_us=micros(skipped.last),
    )
