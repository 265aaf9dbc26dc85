"""The two stores, as contracts. Back ends keep them; the conformance suite holds them to it.

Every verb is one transaction of its own database. No transaction spans the two, so no caller may
rely on one; `flow/` orders its calls so that a crash between two of them is harmless.

Each verb that changes a row names what it expects to find, and reports (never raises) when
somebody else was first. A database that does not answer raises `StoreUnavailable`: the change may
or may not have happened, and every verb is safe to repeat.

Time: `now=None` means the database's own clock, inside the statement. Only tests pass a time.
"""

from duly.store.jobs import (
    Added,
    DueGroup,
    JobFilter,
    JobStore,
    Move,
    NameConflict,
    NewJob,
    RequestKey,
    StoredAnswer,
)
from duly.store.runs import (
    Backlog,
    Claim,
    LostRun,
    RunFilter,
    RunStore,
    Settlement,
    WorkerInfo,
)

__all__ = [
    "Added",
    "Backlog",
    "Claim",
    "DueGroup",
    "JobFilter",
    "JobStore",
    "LostRun",
    "Move",
    "NameConflict",
    "NewJob",
    "RequestKey",
    "RunFilter",
    "RunStore",
    "Settlement",
    "StoredAnswer",
    "WorkerInfo",
]
