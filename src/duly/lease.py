"""Leadership, as a contract: at most one scheduler plans at a time, as far as anyone can know.

    standby ── acquire() is True ──► leading ── lost, or release() ──► standby

Holding the lease only saves work. What keeps a plan right without it: the unique key of runs, the
schedule_version of jobs, and the term, which rises with every leadership and is checked in the
statement that moves jobs on.
"""

from __future__ import annotations

from typing import Protocol


class Lease(Protocol):
    """The right to lead."""

    async def acquire(self) -> bool:
        """Take the lease, or keep it; False while someone else has it. Never waits for it.

        Whoever leads asks before each piece of work: a lease that must be renewed is renewed here.
        """
        ...

    async def release(self) -> None:
        """Give it up; the next in line can have it at once. Raises nothing."""
        ...
