"""The days of history: one partition of `runs`, `tries` and `outputs` for each day of the slots.

They are made ahead by the scheduler, and by whoever files a row for a day that has none. A table is
made on its own and then attached, which holds up neither readers nor writers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date

import asyncpg

from duly.backends.postgres.database import Database, Query
from duly.clock import DAY_US, day_bounds, day_of
from duly.history import Table

TABLES = tuple(Table)

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


def partition(table: str, day: int) -> str:
    """The name of a day's partition. Days are numbered: names stay short and in order."""
    return f"{table}_{day:06d}"


async def make_days(database: Database, days: Iterable[date]) -> None:
    """Make the partitions of these days where they are not there."""
    for day in sorted(set(days)):
        number = _number(day)
        names = [partition(table, number) for table in TABLES]
        ((there,),) = await database.fetch(_ATTACHED, names=names)
        if there == len(TABLES):
            continue
        for table in TABLES:
            await _make(database, table, number)


async def days_there(database: Database) -> list[date]:
    """The days that history has, in order."""
    rows = await database.fetch(_LIST)
    return [day_of(int(row[0].removeprefix("runs_")) * DAY_US) for row in rows]


async def forget(database: Database, day: date, counts: Mapping[Table, int]) -> bool:
    """Drop a day's partitions, if they have exactly so many rows.

    No writer gets to them between the count and the end. Taking them off their tables stops all
    readers for a moment, so that has a short deadline: better later than with everybody waiting.
    """
    number = _number(day)
    await make_days(database, [day])  # a crash may have left one without the others
    async with database.transaction() as session:
        await session.script("SET LOCAL lock_timeout = '300ms'")
        for table in counts:
            await session.script(f"LOCK TABLE duly.{partition(table, number)} IN SHARE MODE")
        for table, count in counts.items():
            name = partition(table, number)
            query = Query(f"SELECT count(*) FROM duly.{name}", ())  # noqa: S608 - of our making
            ((found,),) = await session.fetch(query)
            if found != count:
                return False
        for table in counts:
            name = partition(table, number)
            await session.script(f"ALTER TABLE duly.{table} DETACH PARTITION duly.{name}")
            await session.script(f"DROP TABLE duly.{name}")
    return True


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


def _number(day: date) -> int:
    return day_bounds(day)[0] // DAY_US
