"""The embedded engine: two files, `jobs.db` and `runs.db`, nothing to install."""

from duly.backends.sqlite.jobs import SqliteJobStore
from duly.backends.sqlite.runs import SqliteRunStore

__all__ = ["SqliteJobStore", "SqliteRunStore"]
