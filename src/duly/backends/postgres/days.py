"""The days of history: one partition of `runs`, `tries` and `outputs` for each day of the slots.

They are made ahead by the scheduler, and by whoever files a row for a day that has none. A table is
made on its own and then attached, which holds up neither readers nor writers.
"""

from __future__ import annotations

from collections.abc import Iterable

import asyncpg

from duly.backends.postgres.database import Database, Query

DAY_US = 86_400_000_000
TABLES = ("runs", "tries", "outputs")

_ATTACHED = Query(
    """
    SELECT count(*) FROM pg_inherits
      JOIN pg_class ON pg_class.oid = inhrelid
      JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE nspname = 'duly' AND relname = ANY (:names::text[])
    """.replace(":names", "$1"),
    ("names",),
)
_LIST = Query(
    """
    SELECT relname FROM pg_inherits
      JOIN pg_class ON pg_class.oid = inhrelid
     WHERE inhparent = 'duly.runs'::regclass
     ORDER BY relname
    """,
    (),
)
_ALREADY_THERE = (
    asyncpg.DuplicateTableError,
    asyncpg.UniqueViolationError,  # of the catalogue: two made it at once
    asyncpg.InvalidObjectDefinitionError,  # overlaps: attached by another
    asyncpg.WrongObjectTypeError,  # is already a partition
    asyncpg.DuplicateObjectError,
)


def day_of(slot_us: int) -> int:
    """The day, counted from 1970, that a slot falls on in UTC."""
    return slot_us // DAY_US


def partition(table: str, day: int) -> str:
    """The name of a day's partition. Days are numbered: names stay short and in order."""
    return f"{table}_{day:06d}"


async def make_days(database: Database, days: Iterable[int]) -> None:
    """Make the partitions of these days where they are not there."""
    for day in sorted(set(days)):
        names = [partition(table, day) for table in TABLES]
        ((there,),) = await database.fetch(_ATTACHED, names=names)
        if there == len(TABLES):
            continue
        for table in TABLES:
            await _make(database, table, day)


async def days_there(database: Database) -> list[int]:
    """The days that history has, in order."""
    rows = await database.fetch(_LIST)
    return [int(row[0].removeprefix("runs_")) for row in rows]


async def drop_day(database: Database, day: int) -> None:
    """Take a day out of history. Readers and writers of other days go on meanwhile."""
    for table in reversed(TABLES):
        name = partition(table, day)
        ((attached,),) = await database.fetch(_ATTACHED, names=[name])
        if attached:
            await database.script(f"ALTER TABLE duly.{table} DETACH PARTITION duly.{name}")
        await database.script(f"DROP TABLE IF EXISTS duly.{name}")


async def _make(database: Database, table: str, day: int) -> None:
    name = partition(table, day)
    first, last = day * DAY_US, (day + 1) * DAY_US
    create = f"CREATE TABLE duly.{name} (LIKE duly.{table} INCLUDING ALL)"
    bounds = f"FOR VALUES FROM ({first}) TO ({last})"
    attach = f"ALTER TABLE duly.{table} ATTACH PARTITION duly.{name} {bounds}"
    for statement in (create, attach):
        try:
            await database.script(statement)
        except _ALREADY_THERE:
            continue
