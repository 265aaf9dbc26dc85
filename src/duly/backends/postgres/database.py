"""One PostgreSQL database: its pool of connections, its deadlines, its errors, its migrations.

Every call has a deadline and ends by it: with an answer, or as `StoreUnavailable`, its connection
closed. Connections come back by themselves; who repeats a call, and how often, is the caller's.

Behind a proxy that pools transactions (`?pooling=transaction` in the URL) nothing may outlast a
transaction: no prepared statement is kept, and each call is a transaction of its own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from duly.backends import named_queries
from duly.errors import InvalidConfig, StoreUnavailable, UnknownSchema

DEADLINE_S = 15.0
OLDEST_SERVER = 14
_CLOSE_S = 2.0
# Any number will do, as long as all of Duly takes the same one.
_MIGRATION_LOCK = 0x64756C79

# A row as asyncpg gives it: by place and by name. (Its types are not published.)
Record: TypeAlias = Any

# What a client cannot help: the server is away, full, in recovery, or somebody ended the call.
_UNAVAILABLE = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.LockNotAvailableError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
)
_NO_SCHEMA = (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError)


@dataclass(frozen=True, slots=True)
class Query:
    """A statement as the server takes it, and the names of its values in order."""

    text: str
    names: tuple[str, ...]


def load_queries(name: str) -> dict[str, Query]:
    """The queries of one file. `:name` stands for a value there, as in the other dialect."""
    texts = named_queries.load("duly.backends.postgres", name)
    return {key: _query(text) for key, text in texts.items()}


def listed(values: Iterable[object]) -> str | None:
    """An array of numbers or plain words as text, for a value written `:name::text::bigint[]`.

    asyncpg needs five times as long for each element of a list. None in place of an array of
    nothing else: to `unnest` the same, and nothing to send.
    """
    told = ["NULL" if value is None else str(value) for value in values]
    return None if told.count("NULL") == len(told) else f"{{{','.join(told)}}}"


class Session:
    """A connection in the hands of one caller."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def fetch(self, query: Query, **values: Any) -> list[Record]:
        rows = await self._connection.fetch(query.text, *_ordered(query, values))
        return list(rows)

    async def row(self, query: Query, **values: Any) -> Record | None:
        return await self._connection.fetchrow(query.text, *_ordered(query, values))

    async def execute(self, query: Query, **values: Any) -> int:
        """How many rows it touched."""
        status = await self._connection.execute(query.text, *_ordered(query, values))
        return _rows_of(status)

    async def copy(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows that all have the same columns, in one COPY: half the cost of an INSERT."""
        await self._connection.copy_records_to_table(
            table,
            schema_name="duly",
            columns=list(rows[0]),
            records=[tuple(row.values()) for row in rows],
        )

    async def script(self, text: str) -> None:
        """Statements without values."""
        await self._connection.execute(text)

    async def version(self, schema: str) -> int:
        """The version of Duly's tables; 0 where there are none. Raises UnknownSchema."""
        server = self._connection.get_server_version()
        if server.major < OLDEST_SERVER:
            raise UnknownSchema(f"the server is PostgreSQL {server.major}; Duly needs 14 or later")
        if await self._connection.fetchval("SELECT to_regclass('duly.schema_versions')") is None:
            return 0
        found = await self._connection.fetchval(_GET_VERSION, schema)
        return int(found or 0)


class Database:
    """A database of a known schema. Connects when first asked.

    Args:
        url: `postgresql://user@host:port/name`, as libpq reads it.
        schema: prefix of its files in `migrations/`, `jobs` or `runs`.
        size: connections at most.

    Raises:
        InvalidConfig: the URL is none.
    """

    def __init__(
        self, url: str, schema: str, *, size: int = 4, deadline_s: float = DEADLINE_S
    ) -> None:
        self.url, self._in_transactions = _read_url(url)
        self.schema = schema
        self.shown = hide_password(url)
        self._size = size
        self._deadline_s = deadline_s
        self._pool: Any = None
        self._opening = asyncio.Lock()

    async def fetch(self, query: Query, **values: Any) -> list[Record]:
        async with self.session() as session:
            return await session.fetch(query, **values)

    async def row(self, query: Query, **values: Any) -> Record | None:
        async with self.session() as session:
            return await session.row(query, **values)

    async def execute(self, query: Query, **values: Any) -> int:
        async with self.session() as session:
            return await session.execute(query, **values)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Session]:
        """Several statements, all of them or none."""
        async with self._connection() as connection, connection.transaction():
            yield Session(connection)

    async def script(self, text: str) -> None:
        """One statement that takes no values, outside of any transaction."""
        async with self._connection() as connection:
            await connection.execute(text)

    async def check(self) -> None:
        """Raises UnknownSchema where the tables are not those that this Duly knows."""
        async with self.transaction() as session:
            found = await session.version(self.schema)
        wanted = max(_migrations(self.schema))
        if found == wanted:
            return
        if found > wanted:
            raise UnknownSchema(
                f"{self.shown} has version {found} of Duly's {self.schema} tables, this Duly knows "
                f"up to {wanted}; start the newer Duly that made them"
            )
        has = f"version {found} of Duly's" if found else "none of Duly's"
        raise UnknownSchema(
            f"{self.shown} has {has} {self.schema} tables, this Duly needs version {wanted}; "
            f"run `duly migrate` with the same --{self.schema}-url"
        )

    async def connect(self) -> Any:
        """A connection outside of the pool, for who keeps one. Raises StoreUnavailable."""
        try:
            async with asyncio.timeout(self._deadline_s):
                return await asyncpg.connect(self.url, timeout=self._deadline_s, **_CONNECTION)
        except _UNAVAILABLE as error:
            raise self._unavailable(error) from error

    async def close(self) -> None:
        """Close all connections. Closing again does nothing."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            async with asyncio.timeout(_CLOSE_S):
                await pool.close()
        except (TimeoutError, *_UNAVAILABLE):
            pool.terminate()
            await asyncio.sleep(0)  # sockets are closed in the loop's next turn

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """A connection for one statement."""
        async with self._connection() as connection:
            if not self._in_transactions:
                yield Session(connection)
                return
            async with connection.transaction():
                yield Session(connection)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        connection = None
        broken = False
        pool = self._pool or await self._open()
        try:
            try:
                async with asyncio.timeout(self._deadline_s):
                    connection = await pool.acquire()
                    yield connection
            except (TimeoutError, asyncpg.InternalClientError):
                # Asking a server that is silent to cancel would only be silent as well. And a
                # connection that was cut while idle does not know what state it is in.
                if connection is not None:
                    connection.terminate()
                raise
            except asyncpg.InterfaceError:
                broken = connection is not None and _is_cut(connection)
                raise
            finally:
                if connection is not None:
                    await pool.release(connection, timeout=self._deadline_s)
        except _UNAVAILABLE as error:
            raise self._unavailable(error) from error
        except asyncpg.InterfaceError as error:
            if not broken:
                raise  # a call that was wrong in itself
            raise self._unavailable(error) from error
        except _NO_SCHEMA as error:
            raise UnknownSchema(f"{self.shown}: {error}; run `duly migrate`") from error

    async def _open(self) -> Any:
        async with self._opening:
            if self._pool is None:
                kept = {"statement_cache_size": 0} if self._in_transactions else {}
                self._pool = asyncpg.create_pool(
                    self.url,
                    min_size=0,
                    max_size=self._size,
                    timeout=self._deadline_s,
                    **_CONNECTION,
                    **kept,
                )
                await self._pool  # reserves the places; connects to nothing yet
        return self._pool

    def _unavailable(self, error: BaseException) -> StoreUnavailable:
        told = str(error) or type(error).__name__
        if isinstance(error, TimeoutError):
            told = f"no answer within {self._deadline_s:g} s"
        return StoreUnavailable(f"{self.shown}: {told}")


async def migrate(url: str, schema: str) -> tuple[int, int]:
    """Apply what is missing; the version found and the version made.

    Under a lock of the database, in one transaction: of several that start it at once, one does it.
    """
    database = Database(url, schema, size=1, deadline_s=3600)
    migrations = _migrations(schema)
    try:
        async with database.transaction() as session:
            await session.script(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
            await session.script(_FIRST)
            found = await session.version(schema)
            if found > max(migrations):
                raise UnknownSchema(
                    f"{database.shown} has version {found} of Duly's {schema} tables, this Duly "
                    f"knows up to {max(migrations)}; nothing was changed"
                )
            for number in range(found + 1, max(migrations) + 1):
                await session.script(migrations[number])
            await session.execute(_SET_VERSION, schema=schema, version=max(migrations))
    finally:
        await database.close()
    return found, max(migrations)


def hide_password(url: str) -> str:
    """The URL as it may be shown."""
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", url).partition("?")[0]


class _Connection(asyncpg.Connection):  # type: ignore[misc]
    """Given back as it is: nothing here changes the state of a session."""

    def get_reset_query(self) -> str:
        return ""


# Names of types are asked for once a connection without this; all types used here are built in.
_CONNECTION: Mapping[str, Any] = {
    "connection_class": _Connection,
    "server_settings": {"application_name": "duly"},
}

_FIRST = """
CREATE SCHEMA IF NOT EXISTS duly;
CREATE TABLE IF NOT EXISTS duly.schema_versions (part text PRIMARY KEY, version integer NOT NULL);
"""
_GET_VERSION = "SELECT version FROM duly.schema_versions WHERE part = $1"
_SET_VERSION = Query(
    "INSERT INTO duly.schema_versions VALUES ($1, $2)"
    " ON CONFLICT (part) DO UPDATE SET version = excluded.version",
    ("schema", "version"),
)


def _migrations(schema: str) -> dict[int, str]:
    folder = files("duly.backends.postgres.migrations")
    return {
        int(entry.name.removeprefix(f"{schema}_").removesuffix(".sql")): entry.read_text("utf-8")
        for entry in folder.iterdir()
        if entry.name.startswith(f"{schema}_") and entry.name.endswith(".sql")
    }


def _query(text: str) -> Query:
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        if match[1] not in names:
            names.append(match[1])
        return f"${names.index(match[1]) + 1}"

    # Not the second colon of a cast.
    return Query(re.sub(r"(?<!:):([a-z_]+)\b", number, text), tuple(names))


def _is_cut(connection: Any) -> bool:
    try:
        return bool(connection.is_closed())
    except asyncpg.InterfaceError:
        return True  # the pool has taken it back by itself


def _ordered(query: Query, values: Mapping[str, Any]) -> list[Any]:
    return [values[name] for name in query.names]


def _rows_of(status: str) -> int:
    count = status.rpartition(" ")[2]
    return int(count) if count.isdigit() else 0


def _read_url(url: str) -> tuple[str, bool]:
    """The URL without what is Duly's own in it, and whether a proxy pools transactions."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgresql", "postgres"} or not parts.path.strip("/"):
        raise InvalidConfig(
            f"{hide_password(url)!r} is no address of a PostgreSQL database; write it like "
            "postgresql://user:password@host:5432/name"
        )
    options = parse_qsl(parts.query, keep_blank_values=True)
    pooling = dict(options).get("pooling")
    if pooling not in {None, "session", "transaction"}:
        raise InvalidConfig(f"pooling={pooling} in a database's address: session or transaction")
    rest = urlencode([(key, value) for key, value in options if key != "pooling"])
    return urlunsplit(parts._replace(query=rest)), pooling == "transaction"
