"""Leadership as a row of the jobs database, held until a moment of that database's clock."""

from __future__ import annotations

from contextlib import suppress

from duly.backends.postgres.database import Database, load_queries
from duly.clock import Clock
from duly.errors import StoreUnavailable

_SQL = load_queries("jobs.sql")


class PostgresLease:
    """`Lease` for schedulers on many machines.

    It counts as held from when the renewal was sent, so it ends here before it ends there.

    Args:
        holder: a name that no other process has.
        length_s: how long a leader may be silent before another takes over.
    """

    def __init__(
        self, database: Database, clock: Clock, *, name: str, holder: str, length_s: float
    ) -> None:
        self._database = database
        self._clock = clock
        self._name = name
        self._holder = holder
        self._length_s = length_s
        self._renew_at = 0.0
        self._until = 0.0

    async def acquire(self) -> bool:
        sent = self._clock.monotonic()
        if sent < self._renew_at:
            return True
        try:
            taken = await self._database.execute(
                _SQL["take_lease"],
                name=self._name,
                holder=self._holder,
                length=int(self._length_s * 1_000_000),
            )
        except StoreUnavailable:
            if self._clock.monotonic() < self._until:
                return True  # unreachable is not lost: it is held until its end
            raise
        if not taken:
            self._renew_at = self._until = 0.0
            return False
        self._renew_at = sent + self._length_s / 3
        self._until = sent + self._length_s * 0.9
        return self._clock.monotonic() < self._until

    async def release(self) -> None:
        held, self._renew_at, self._until = self._until, 0.0, 0.0
        if held:
            # Where the database does not answer, the lease runs out by itself.
            with suppress(StoreUnavailable):
                await self._database.execute(
                    _SQL["give_up_lease"], name=self._name, holder=self._holder
                )
        await self._database.close()
