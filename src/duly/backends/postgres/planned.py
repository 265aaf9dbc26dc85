"""Saving planned rows on PostgreSQL, in one transaction with the look at history for the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from duly.backends.postgres.database import Session, listed, load_queries
from duly.run import PlannedRun, PlannedSlot, Status

_SQL = load_queries("runs.sql")


async def save(session: Session, rows: Sequence[PlannedRun], at: int | None) -> int:
    values = {
        "job_ids": listed(row.job_id for row in rows),
        "slots": listed(row.slot_us for row in rows),
        "due_ats": listed(row.due_us for row in rows),
        "queues": [row.queue for row in rows],
        "priorities": listed(row.priority for row in rows),
        "exclusives": listed(row.exclusive for row in rows),
        "versions": listed(row.schedule_version for row in rows),
        "manuals": listed(row.manual for row in rows),
    }
    saved = await session.execute(_SQL["save_runs"], now=at, **values)
    there = len(rows) - saved
    saved += await _heed_history(session, rows)
    if there:
        saved += len(await session.fetch(_SQL["take_up_runs"], **values))
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
    """`save` for what a rush consists of, in a third of its time.

    Raises asyncpg.UniqueViolationError where a row of it is there already; `save` sees to that.
    """
    saved = await session.execute(
        _SQL["save_slot"],
        slot=slot.slot_us,
        queue=slot.queue,
        priority=slot.priority,
        exclusive=slot.exclusive,
        version=slot.schedule_version,
        job_ids=listed(slot.job_ids),
        offsets=listed(slot.offsets_us) if any(slot.offsets_us) else None,
        now=at,
    )
    span = {"first": min(slot.job_ids), "last": max(slot.job_ids)}
    if await session.row(_SQL["any_over"], slot=slot.slot_us, **span):
        saved += await _heed_history(session, list(rows_of(slot)))
    return saved


async def _heed_history(session: Session, rows: Sequence[PlannedRun]) -> int:
    """Of rows just saved, withdraw those that history holds, unless an edit had voided them.

    Returns how many rows fewer there are, as a negative number.
    """
    keys = {
        "job_ids": listed(row.job_id for row in rows),
        "slots": listed(row.slot_us for row in rows),
    }
    over = await session.fetch(_SQL["over"], **keys)
    if not over:
        return 0
    planned = {(row.job_id, row.slot_us): row for row in rows}
    revived: list[tuple[int, int]] = []
    kept: list[tuple[int, int]] = []
    for row in over:
        new = planned[row[0], row[1]]
        again = row["voided"] and row["schedule_version"] < new.schedule_version
        (revived if again and row["manual"] == new.manual else kept).append((row[0], row[1]))
    if revived:
        await session.execute(_SQL["revive_runs"], **_pairs(revived))
    return -await session.execute(_SQL["withdraw_runs"], **_pairs(kept)) if kept else 0


def rows_of(slot: PlannedSlot) -> Iterable[PlannedRun]:
    return (
        PlannedRun(job_id, slot.slot_us, slot.slot_us + offset_us, *slot[1:5])
        for job_id, offset_us in zip(slot.job_ids, slot.offsets_us, strict=True)
    )


def _pairs(keys: Sequence[tuple[int, int]]) -> dict[str, Any]:
    return {"job_ids": [key[0] for key in keys], "slots": [key[1] for key in keys]}
