"""Old days on SQLite: found, read out, and dropped once they are archived."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Mapping
from datetime import date
from typing import Any

from duly.backends import named_queries
from duly.backends.sqlite.database import Database
from duly.clock import day_bounds, day_of
from duly.history import Row, Table

_SQL = named_queries.load("duly.backends.sqlite", "runs.sql")
_LOWEST = -(1 << 63)
# Runs dropped in one transaction, and the pause in which others get to write.
_BATCH = 500
_PAUSE_S = 0.01


async def days(database: Database, before_us: int, limit: int) -> list[date]:
    """Days that ended by then and of which runs are over."""
    end_us, _ = day_bounds(day_of(before_us))

    def work(db: sqlite3.Connection) -> list[date]:
        found: list[date] = []
        since = _LOWEST
        while len(found) < limit:
            row = db.execute(_SQL["first_over"], {"since": since, "before": end_us}).fetchone()
            if row is None:
                break
            found.append(day_of(row[0]))
            _, since = day_bounds(found[-1])
        return found

    return await database.read(work)


async def export(
    database: Database, table: Table, day: date, after: Row | None, limit: int
) -> list[Row]:
    values = _bounds(day) | {
        "after_job": _LOWEST if after is None else after[0],
        "after_slot": _LOWEST if after is None else after[1],
        "after_token": _LOWEST if after is None else after[2],
        "limit": limit,
    }
    return await database.read(lambda db: db.execute(_SQL[f"export_{table}"], values).fetchall())


async def forget(database: Database, day: date, counts: Mapping[Table, int]) -> bool:
    """Delete the day in small batches, so that no claim waits long for the lock."""

    def look(db: sqlite3.Connection) -> list[tuple[int, int]] | None:
        keys = db.execute(_SQL["keys_over"], _bounds(day)).fetchall()
        found = {Table.RUNS: len(keys)} | {
            table: db.execute(_SQL[f"count_{table}"], _bounds(day)).fetchone()[0]
            for table in (Table.TRIES, Table.OUTPUTS)
        }
        return keys if found == counts else None

    keys = await database.read(look)
    if keys is None:
        return False
    for start in range(0, len(keys), _BATCH):
        batch = {"keys": json.dumps(keys[start : start + _BATCH])}

        def drop(db: sqlite3.Connection, batch: Mapping[str, Any] = batch) -> None:
            for table in (Table.OUTPUTS, Table.TRIES, Table.RUNS):
                db.execute(_SQL[f"forget_{table}"], batch)

        await database.write(drop)
        await asyncio.sleep(_PAUSE_S)
    return True


def _bounds(day: date) -> dict[str, Any]:
    first, end = day_bounds(day)
    return {"first": first, "end": end}
