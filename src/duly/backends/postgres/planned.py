"""Saving planned rows on PostgreSQL, in one transaction with the look at history for the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from duly.backends.postgres.database import Session, load_queries
from duly.run import PlannedRun, PlannedSlot, Status

_SQL = load_queries("runs.sql")


async def save(session: Session, rows: Sequence[PlannedRun], at: int | None) -> int:
    values = {
        "job_ids": [row.job_id for row in rows],
        "slots": [row.slot_us for row in rows],
        "due_ats": [row.due_us for row in rows],
        "queues": [row.queue for row in rows],
        "priorities": [row.priority for row in rows],
        "exclusives": [row.exclusive for row in rows],
        "versions": [row.schedule_version for row in rows],
        "manuals": [row.manual for row in rows],
    }
    saved = await session.execute(_SQL["save_runs"], now=at, **values)
    over = await session.fetch(_SQL["over"], **values)
    saved += await _after_save(session, rows, saved, over, values)
    filed = [row for row in rows if row.status != Status.QUEUED]
    if filed:
        await session.execute(
            _SQL["file_planned"],
            job_ids=[row.job_id for row in filed],
            slots=[row.slot_us for row in filed],
            statuses=[row.status for row in filed],
            reasons=[row.reason for row in filed],
            counts=[row.slots for row in filed],
            last_slots=[row.last_slot_us for row in filed],
        )
    return saved


async def save_slot(session: Session, slot: PlannedSlot, at: int | None) -> int:
    """`_save` for what a rush consists of, in half of its time."""
    dues = [slot.slot_us + offset_us for offset_us in slot.offsets_us]
    saved = await session.execute(
        _SQL["save_slot"],
        slot=slot.slot_us,
        queue=slot.queue,
        priority=slot.priority,
        exclusive=slot.exclusive,
        version=slot.schedule_version,
        job_ids=slot.job_ids,
        due_ats=dues,
        now=at,
    )
    over = await session.fetch(_SQL["over_of_slot"], slot=slot.slot_us, job_ids=slot.job_ids)
    if saved == len(dues) and not over:
        return saved
    rows = list(rows_of(slot))
    values = {
        "job_ids": slot.job_ids,
        "slots": [slot.slot_us] * len(dues),
        "due_ats": dues,
        "queues": [slot.queue] * len(dues),
        "priorities": [slot.priority] * len(dues),
        "exclusives": [slot.exclusive] * len(dues),
        "versions": [slot.schedule_version] * len(dues),
        "manuals": [False] * len(dues),
    }
    return saved + await _after_save(session, rows, saved, over, values)


async def _after_save(
    session: Session,
    rows: Sequence[PlannedRun],
    saved: int,
    over: Sequence[Any],
    values: dict[str, Any],
) -> int:
    """Deal with keys that were there already; how many rows more, or fewer, are new by that."""
    change = 0
    if over:
        planned = {(row.job_id, row.slot_us): row for row in rows}
        revived: list[tuple[int, int]] = []
        kept: list[tuple[int, int]] = []
        for row in over:
            new = planned[row[0], row[1]]
            again = row["voided"] and row["schedule_version"] < new.schedule_version
            (revived if again and row["manual"] == new.manual else kept).append((row[0], row[1]))
        if revived:
            await session.execute(_SQL["revive_runs"], **_pairs(revived))
        if kept:
            change -= await session.execute(_SQL["withdraw_runs"], **_pairs(kept))
    if saved < len(rows):
        taken_up = await session.fetch(_SQL["take_up_runs"], **values)
        change += len(taken_up)
    return change


def rows_of(slot: PlannedSlot) -> Iterable[PlannedRun]:
    return (
        PlannedRun(job_id, slot.slot_us, slot.slot_us + offset_us, *slot[1:5])
        for job_id, offset_us in zip(slot.job_ids, slot.offsets_us, strict=True)
    )


def _pairs(keys: Sequence[tuple[int, int]]) -> dict[str, Any]:
    return {"job_ids": [key[0] for key in keys], "slots": [key[1] for key in keys]}
