"""The archive, as a contract: where days of history go that are older than the stores keep.

A day is one set of rows for each table of history. It is written, read back and compared with what
the store still holds, and only then dropped there. A crash at any point leaves a day in both
places at worst: readers see each run once, the store's row first.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import date
from typing import Protocol, TypeAlias

from duly.history import Row, Table
from duly.run import Output, Run, RunKey, Try
from duly.store import RunFilter

Pages: TypeAlias = Callable[[], AsyncIterator[list[Row]]]


class Archive(Protocol):
    """Where old days lie."""

    async def keep(self, day: date, table: Table, pages: Pages) -> int | None:
        """Store a day's rows of one table, and prove it; how many.

        What was written is read back and compared with `pages()`, asked for once more. None: they
        differ, more has come to the day meanwhile. Rows that an earlier call has stored are found,
        not stored again.

        Raises ArchiveUnavailable.
        """
        ...

    async def get(self, key: RunKey) -> Run | None: ...

    async def history(
        self, which: RunFilter, *, before: RunKey | None = None, limit: int = 100
    ) -> list[Run]:
        """As `RunStore.history`."""
        ...

    async def tries(self, key: RunKey) -> list[Try]: ...

    async def output(self, key: RunKey, *, attempt: int | None = None) -> Output | None: ...
