"""Archive: move the oldest day out of the runs database, once it is older than `keep`.

    pages of the day ──► archive, read back and compared ──► dropped from the database

A crash between the steps leaves the day in both places; the next pass finds it archived, compares
again and drops it. What comes to a day after it was archived (a run that ended very late) is a day
again for the next pass.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date, datetime
from functools import partial

from duly.archive import Archive
from duly.events import DayArchived, Event
from duly.history import Row, Table
from duly.store import RunStore

# Rows in memory at a time. An output has up to 64 KiB.
_PAGE = {Table.RUNS: 50_000, Table.TRIES: 50_000, Table.OUTPUTS: 500}


async def archive_day(runs: RunStore, archive: Archive, *, before: datetime) -> list[Event]:
    """Archive the oldest day that ended before that time; no events where there is none."""
    days = await runs.days(before, limit=1)
    if not days:
        return []
    (day,) = days
    counts: dict[Table, int] = {}
    # The runs last: once they are there, the whole of the day is.
    for table in (Table.OUTPUTS, Table.TRIES, Table.RUNS):
        count = await archive.keep(day, table, partial(_pages, runs, table, day))
        if count is None:
            return []
        counts[table] = count
    if not await runs.forget_day(day, counts):
        return []
    return [DayArchived(day, counts[Table.RUNS])]


async def _pages(runs: RunStore, table: Table, day: date) -> AsyncIterator[list[Row]]:
    last: Row | None = None
    while rows := await runs.export(table, day, after=last, limit=_PAGE[table]):
        yield rows
        last = rows[-1]
