"""One SQLite file: its connection, its thread, its transactions, its migrations.

All statements of a `Database` run on one thread of their own, so the event loop never waits for a
disk. Several processes share the file: WAL lets readers go on while one writes, a write transaction
takes the lock at its start (`BEGIN IMMEDIATE`) and is short, and who finds it taken waits. With
`synchronous=FULL` a commit is on disk before it is told to anyone.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from duly.errors import StoreUnavailable, UnknownSchema

T = TypeVar("T")

_BUSY_S = 20.0
# Pages of WAL before a commit folds it into the file: larger than the default of 1000, so that the
# fold is rarer; small enough that it takes milliseconds.
_CHECKPOINT_PAGES = 4000
_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA cache_size=-65536",
    f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}",
)


class Database:
    """A SQLite file of a known schema.

    Args:
        path: the file; made with its schema where it does not exist.
        schema: prefix of its files in `migrations/`, `jobs` or `runs`.

    Raises:
        UnknownSchema: a newer Duly wrote the file.
        StoreUnavailable: it cannot be opened.
    """

    def __init__(self, path: Path, schema: str) -> None:
        self.path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"sqlite-{schema}")
        self._connection = self._thread.submit(self._open, schema).result()
        self._closed = False
        self._lock = threading.Lock()
        self._waiting: list[tuple[Callable[[sqlite3.Connection], Any], asyncio.Future[Any]]] = []

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on one consistent snapshot."""

        def call() -> T:
            with self._transaction("BEGIN"):
                return work(self._connection)

        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` as one transaction, alone among writers; all of it or, if it raises, none.

        Writes that wait for the thread at the same time share a commit, and so one wait for the
        disk: each in a savepoint of its own, none told before the commit.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        with self._lock:
            self._waiting.append((work, done))
            first = len(self._waiting) == 1
        if first:
            loop.run_in_executor(self._thread, self._write_waiting, loop)
        return await done

    async def close(self) -> None:
        """Close the file, once what waits is done. Closing again does nothing."""
        if not self._closed:
            self._closed = True
            await asyncio.get_running_loop().run_in_executor(self._thread, self._connection.close)
            self._thread.shutdown(wait=False)

    def _write_waiting(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            batch, self._waiting = self._waiting, []
        outcomes: list[tuple[asyncio.Future[Any], Any, Exception | None]] = []
        try:
            with self._transaction("BEGIN IMMEDIATE"):
                outcomes += ((done, *self._attempt(work)) for work, done in batch)
        except Exception as error:  # noqa: BLE001 - whatever it was, the callers are told
            outcomes = [(done, None, error) for _, done in batch]
        loop.call_soon_threadsafe(_tell, outcomes)

    def _attempt(self, work: Callable[[sqlite3.Connection], Any]) -> tuple[Any, Exception | None]:
        self._connection.execute("SAVEPOINT one")
        try:
            result = work(self._connection)
        except Exception as error:
            if not self._connection.in_transaction:
                raise  # the disk is full, or worse: SQLite has given up all of it
            self._connection.execute("ROLLBACK TO one")
            self._connection.execute("RELEASE one")
            return None, _translated(error, self.path)
        self._connection.execute("RELEASE one")
        return result, None

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        try:
            self._connection.execute(begin)
            try:
                yield
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            # A commit that failed (full disk) leaves its transaction open.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise _translated(error, self.path) from error

    def _open(self, schema: str) -> sqlite3.Connection:
        try:
            # Jobs may carry secrets; SQLite gives its side files the mode of the file.
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = sqlite3.connect(
                self.path,
                timeout=_BUSY_S,
                isolation_level=None,
                cached_statements=256,
                check_same_thread=False,
            )
            for pragma in _PRAGMAS:
                connection.execute(pragma)
            _migrate(connection, self.path, schema)
        except (OSError, sqlite3.OperationalError) as error:
            raise StoreUnavailable(f"{self.path}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise StoreUnavailable(f"{self.path} is no database of Duly's: {error}") from error
        return connection


def fetch_array(db: sqlite3.Connection, statement: str, values: Sequence[Any]) -> list[Any]:
    """The rows of a statement that puts them into one JSON array.

    Between two rows Python's lock changes hands, and who waits for it while another thread is busy
    waits for milliseconds. So what a busy worker asks for, it asks for in one piece.
    """
    ((rows,),) = db.execute(statement, values)
    return list(json.loads(rows))


def _tell(outcomes: list[tuple[asyncio.Future[Any], Any, Exception | None]]) -> None:
    for done, result, error in outcomes:
        if done.cancelled():
            continue
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)


# Mistakes of a statement's author or its values, not of the database.
_OWN_FAULT = (
    sqlite3.IntegrityError,
    sqlite3.ProgrammingError,
    sqlite3.DataError,
    sqlite3.NotSupportedError,
)


def _translated(error: Exception, path: Path) -> Exception:
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, _OWN_FAULT):
        unavailable = StoreUnavailable(f"{path}: {error}")
        unavailable.__cause__ = error
        return unavailable
    return error


def _migrate(connection: sqlite3.Connection, path: Path, schema: str) -> None:
    """Apply what is missing, under the write lock; two starting processes do it once."""
    migrations = _migrations(schema)
    latest = max(migrations)
    if _version(connection) == latest:
        return
    if _version(connection) > latest:
        raise UnknownSchema(
            f"{path} has schema {_version(connection)}, this Duly knows up to {latest}; "
            "start the newer Duly that wrote it, or restore a backup"
        )
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)
        for number in range(version + 1, latest + 1):
            for statement in _statements(migrations[number]):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={latest}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _migrations(schema: str) -> dict[int, str]:
    folder = files("duly.backends.sqlite.migrations")
    return {
        int(entry.name.removeprefix(f"{schema}_").removesuffix(".sql")): entry.read_text("utf-8")
        for entry in folder.iterdir()
        if entry.name.startswith(f"{schema}_") and entry.name.endswith(".sql")
    }


def _statements(script: str) -> Iterator[str]:
    """Cut a script where SQLite says a statement is complete."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
