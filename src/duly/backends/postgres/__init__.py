"""Duly on PostgreSQL, 14 and later: the contracts that SQLite keeps, for many machines.

The jobs and the runs may lie in one database or on two servers. Everything stands in the schema
`duly`, named in full in each statement: nothing depends on the state of a session.
"""

from duly.backends.postgres.database import Database, hide_password, migrate
from duly.backends.postgres.jobs import PostgresJobStore
from duly.backends.postgres.lease import PostgresLease
from duly.backends.postgres.runs import PostgresRunStore

__all__ = [
    "Database",
    "PostgresJobStore",
    "PostgresLease",
    "PostgresRunStore",
    "hide_password",
    "migrate",
]
