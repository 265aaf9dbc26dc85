"""Plan: save a run for each job due within the horizon, then move the job on.

Runs are saved first and jobs moved second, in two databases. A crash between the two leaves jobs
that are planned again; the key (job, slot) refuses the second row. A job that was edited after it
was read is not moved (its `schedule_version` differs), and a leader whose term is over moves none.

The database reads the jobs in groups of one (schedule, zone, slot), and next times are computed
once for each: a million daily jobs cost one computation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import NamedTuple

from duly.clock import instant, micros
from duly.encoding import decode_missed, from_micros
from duly.events import Event, Planned, PlanRefused
from duly.policy import Skipped, plan_slot
from duly.run import PlannedRun, PlannedSlot, Status
from duly.schedule import Gap, Repeat, parse
from duly.store import DueGroup, JobStore, Move, RunStore

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
    read = sum(len(group.job_ids) for group in due)
    if not read:
        return PlanPass(0, 0)
    # One half is saved while the other is moved on: the two databases work at the same time.
    parts = _cut(due, read // 2) if read > _ONE_PART else (due,)
    told = await asyncio.gather(
        *(_plan_part(jobs, runs, part, term=term, now=now) for part in parts),
        return_exceptions=True,  # so that no half goes on once this has returned
    )
    done = [each for each in told if isinstance(each, Planned)]
    for each in told:
        if isinstance(each, BaseException):
            raise each
    moved = sum(each.moved for each in done)
    refused = (PlanRefused(jobs=read - moved, term=term),) if moved < read else ()
    return PlanPass(read, moved, (*done, *refused))


def _cut(due: Sequence[DueGroup], size: int) -> tuple[list[DueGroup], list[DueGroup]]:
    """The groups of the first `size` jobs, and those of the others."""
    first: list[DueGroup] = []
    others: list[DueGroup] = []
    for group in due:
        ids, offsets_us = group.job_ids, group.offsets_us
        if size:
            first.append(group._replace(job_ids=ids[:size], offsets_us=offsets_us[:size]))
        if size < len(ids):
            others.append(group._replace(job_ids=ids[size:], offsets_us=offsets_us[size:]))
        size = max(0, size - len(ids))
    return first, others


async def _plan_part(
    jobs: JobStore, runs: RunStore, due: Sequence[DueGroup], *, term: int, now: datetime
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


def _decide(due: Sequence[DueGroup], now: datetime) -> _Decided:
    """Decide once for each group."""
    decided = _Decided([], [], [])
    for group in chain.from_iterable(_alike(each, micros(now)) for each in due):
        case = _case(group, now)
        ids, offsets_us, version = group.job_ids, group.offsets_us, group.schedule_version
        if case.skipped is not None:
            decided.skipped.extend(_skipped_rows(group, case.skipped))
        if case.run_us is not None:
            kind = group.queue, group.priority, group.exclusive, version
            decided.slots.append(PlannedSlot(case.run_us, *kind, ids, offsets_us))
        decided.moves.append(Move(case.next_us, version, ids, offsets_us))
    return decided


def _alike(group: DueGroup, now_us: int) -> Iterable[DueGroup]:
    """The group, by offsets where some of it is late.

    Whether a late slot counts as missed depends on the offset; an on-time one never does.
    """
    if group.slot_us + min(group.offsets_us) >= now_us:
        return (group,)
    by_offset: dict[int, list[int]] = {}
    for job_id, offset_us in zip(group.job_ids, group.offsets_us, strict=True):
        by_offset.setdefault(offset_us, []).append(job_id)
    return (
        group._replace(job_ids=ids, offsets_us=[offset_us] * len(ids))
        for offset_us, ids in by_offset.items()
    )


class _Case(NamedTuple):
    """A `SlotPlan` in the planner's units."""

    run_us: int | None
    skipped: Skipped | None
    next_us: int | None


def _case(group: DueGroup, now: datetime) -> _Case:
    decided = plan_slot(
        parse(group.schedule, group.timezone, gap=Gap(group.gap), repeat=Repeat(group.repeat)),
        instant(group.slot_us),
        now=now,
        offset=from_micros(group.offsets_us[0]),
        missed=decode_missed(group.missed),
        ends_at=None if group.ends_us is None else instant(group.ends_us),
    )
    return _Case(
        None if decided.run is None else micros(decided.run),
        decided.skipped,
        None if decided.next_slot is None else micros(decided.next_slot),
    )


def _skipped_rows(group: DueGroup, skipped: Skipped) -> Iterable[PlannedRun]:
    first_us = micros(skipped.first)
    return (
        PlannedRun(
            job_id,
            first_us,
            first_us + offset_us,
            group.queue,
            group.priority,
            group.exclusive,
            group.schedule_version,
            status=Status.SKIPPED.value,
            reason=skipped.reason,
            slots=skipped.count,
            last_slot_us=micros(skipped.last),
        )
        for job_id, offset_us in zip(group.job_ids, group.offsets_us, strict=True)
    )
