"""The archive as Parquet files, in a folder or an S3-compatible store.

    <root>/runs/date=2026-10-01/<part>.parquet      (the layout that DuckDB, Spark and others read)
    <root>/tries/date=2026-10-01/<part>.parquet
    <root>/outputs/date=2026-10-01/<part>.parquet

Rows are sorted by job, so one job's rows of a day lie in one row group. A file appears whole or not
at all. A day has a second part only where runs ended after it was archived; a run that is in two
parts is the same in both.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
from collections.abc import Callable, Iterator
from datetime import UTC, date
from typing import Any, ParamSpec, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet as pq

from duly.archive import Pages
from duly.backends.run_rows import run_of, try_of
from duly.clock import micros
from duly.errors import ArchiveUnavailable, InvalidConfig
from duly.history import COLUMNS, Row, Table
from duly.run import Output, Run, RunKey, Try
from duly.store import RunFilter

P = ParamSpec("P")
T = TypeVar("T")

_TIME = pa.timestamp("us", tz="UTC")
_TIMES = {"scheduled_for", "due_at", "queued_at", "started_at", "finished_at", "last_slot"}
_INTEGERS = {"job_id", "schedule_version", "token", "slots", "dropped"}
_SMALL = {"priority", "attempts", "interruptions", "attempt", "exit_code", "signal"}
_BYTES = {"head", "tail"}
_BY_TIME = "scheduled_for", "job_id"
_BY_JOB = "job_id", "scheduled_for"
# Other names in the folders are none of ours.
_PART = re.compile(r"[0-9a-f]{16}\.parquet")
_DAY = re.compile(r"date=([0-9]{4}-[0-9]{2}-[0-9]{2})")


class ParquetArchive:
    """`Archive` in one place.

    Args:
        place: a folder, or `s3://bucket/prefix`, with `?region=…&endpoint_override=…` where needed.
            Credentials come from the environment, as for any client of that store.

    Raises:
        InvalidConfig: the place is none.
    """

    def __init__(self, place: str) -> None:
        try:
            if "://" in place:
                self._files, self._root = pyarrow.fs.FileSystem.from_uri(place)
            else:
                self._files = pyarrow.fs.LocalFileSystem()
                self._root = os.path.abspath(place)  # noqa: PTH100 - one form for all places
        except (pa.ArrowException, OSError) as error:
            raise InvalidConfig(f"{place!r} is no place for an archive: {error}") from error
        self._local = isinstance(self._files, pyarrow.fs.LocalFileSystem)
        self._shown = place.partition("?")[0]

    async def keep(self, day: date, table: Table, pages: Pages) -> int | None:
        for path in await self._do(self._parts, table, day):
            count = await self._compare(path, table, pages)
            if count is not None:
                return count
        await self._do(self._sweep, table, day)
        path = f"{self._folder(table, day)}/{secrets.token_hex(8)}.parquet"
        if not await self._write(path, table, pages):
            return 0
        count = await self._compare(path, table, pages)
        if count is None:
            await self._do(self._files.delete_file, path)
        return count

    async def get(self, key: RunKey) -> Run | None:
        rows = await self._do(self._rows_of, Table.RUNS, key)
        return run_of(rows[0]) if rows else None

    async def history(
        self, which: RunFilter, *, before: RunKey | None = None, limit: int = 100
    ) -> list[Run]:
        rows = await self._do(self._history, which, before, limit)
        return [run_of(row) for row in rows]

    async def tries(self, key: RunKey) -> list[Try]:
        rows = await self._do(self._rows_of, Table.TRIES, key)
        return [try_of(row) for row in rows]

    async def output(self, key: RunKey, *, attempt: int | None = None) -> Output | None:
        rows = await self._do(self._rows_of, Table.OUTPUTS, key)
        rows = [row for row in rows if attempt in {None, row["attempt"]}]
        return Output(rows[-1]["head"], rows[-1]["tail"], rows[-1]["dropped"]) if rows else None

    async def _do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await asyncio.to_thread(work, *args, **kwargs)
        except (pa.ArrowException, OSError) as error:
            raise ArchiveUnavailable(f"the archive {self._shown}: {error}") from error

    async def _write(self, path: str, table: Table, pages: Pages) -> bool:
        """Write a file, a row group for each page; False, and no file, where there are no rows."""
        writer: _Writer | None = None
        try:
            async for rows in pages():
                if writer is None:
                    writer = await self._do(_Writer, self._files, path, table, self._local)
                await self._do(writer.add, _page(table, rows))
            if writer is not None:
                await self._do(writer.finish)
        except BaseException:
            if writer is not None:
                await self._do(writer.give_up)
            raise
        return writer is not None

    async def _compare(self, path: str, table: Table, pages: Pages) -> int | None:
        """How many rows the file has, if they are those of the pages, one and all."""
        file = await self._do(self._open, path)
        groups, count = 0, 0
        async for rows in pages():
            if groups == file.num_row_groups:
                return None
            read = await self._do(file.read_row_group, groups)
            if not read.equals(_page(table, rows)):
                return None
            groups, count = groups + 1, count + len(rows)
        return count if groups == file.num_row_groups else None

    def _folder(self, table: Table, day: date) -> str:
        return f"{self._root}/{table}/date={day.isoformat()}"

    def _open(self, path: str) -> pq.ParquetFile:
        return pq.ParquetFile(path, filesystem=self._files)

    def _parts(self, table: Table, day: date) -> list[str]:
        entries = self._entries(self._folder(table, day))
        return sorted(path for path in entries if _PART.fullmatch(path.rpartition("/")[2]))

    def _sweep(self, table: Table, day: date) -> None:
        """Files that were never finished have a dot before their name."""
        for path in self._entries(self._folder(table, day)):
            if path.rpartition("/")[2].startswith("."):
                self._files.delete_file(path)

    def _days(self, table: Table) -> list[date]:
        """The days that the archive has, the latest first."""
        names = (path.rpartition("/")[2] for path in self._entries(f"{self._root}/{table}"))
        days = (_DAY.fullmatch(name) for name in names)
        return sorted((date.fromisoformat(day[1]) for day in days if day), reverse=True)

    def _entries(self, folder: str) -> list[str]:
        selected = pyarrow.fs.FileSelector(folder, allow_not_found=True)
        return [entry.path for entry in self._files.get_file_info(selected)]

    def _rows_of(self, table: Table, key: RunKey) -> list[dict[str, Any]]:
        slot = micros(key.scheduled_for)
        found: dict[tuple[Any, ...], dict[str, Any]] = {}
        for path in self._parts(table, key.scheduled_for.date()):
            file = self._open(path)
            for group in _groups(file, job_id=key.job_id):
                rows = file.read_row_group(group)
                same = pc.and_(
                    pc.equal(rows["job_id"], key.job_id),
                    pc.equal(rows["scheduled_for"].cast(pa.int64()), slot),
                )
                for row in _dicts(rows.filter(same)):
                    found[row["job_id"], row["scheduled_for"], row["token"]] = row
        return [found[key] for key in sorted(found, key=lambda key: key[2] or 0)]

    def _history(self, which: RunFilter, before: RunKey | None, limit: int) -> list[dict[str, Any]]:
        latest = date.max if before is None else before.scheduled_for.date()
        if which.until is not None:
            latest = min(latest, which.until.astimezone(UTC).date())
        earliest = date.min if which.since is None else which.since.astimezone(UTC).date()
        found: dict[tuple[int, int], dict[str, Any]] = {}
        for day in self._days(Table.RUNS):
            if len(found) >= limit or day < earliest:
                break
            if day > latest:
                continue
            left = limit - len(found)
            for path in self._parts(Table.RUNS, day):
                file = self._open(path)
                rows = _latest(file, which, before, left)
                found |= {(row["scheduled_for"], row["job_id"]): row for row in rows}
        return [found[key] for key in sorted(found, reverse=True)[:limit]]


class _Writer:
    """A file that appears under its name once it is whole."""

    def __init__(self, files: Any, path: str, table: Table, local: bool) -> None:
        self._files, self._path, self._local = files, path, local
        # An object store shows a file when it is closed; in a folder it gets its name then.
        folder, _, name = path.rpartition("/")
        self._open_path = f"{folder}/.{name}" if local else path
        if local:
            files.create_dir(folder)
        self._out = files.open_output_stream(self._open_path)
        by_job = [pq.SortingColumn(COLUMNS[table].index(name)) for name in _BY_JOB]
        self._writer = pq.ParquetWriter(
            self._out, _SCHEMAS[table], compression="zstd", sorting_columns=by_job
        )

    def add(self, page: pa.Table) -> None:
        self._writer.write_table(page, row_group_size=page.num_rows)

    def finish(self) -> None:
        self._writer.close()
        self._out.close()
        if self._local:
            _flush(self._open_path)
            self._files.move(self._open_path, self._path)
            _flush(self._path.rpartition("/")[0])

    def give_up(self) -> None:
        self._writer.close()
        self._out.close()
        self._files.delete_file(self._open_path)


def _latest(
    file: pq.ParquetFile, which: RunFilter, before: RunKey | None, limit: int
) -> list[dict[str, Any]]:
    """The last rows of a file that fit, found by their narrow columns; only they are read whole."""
    found: list[pa.Table] = []
    for group in _groups(file, job_id=which.job_id):
        narrow = file.read_row_group(group, columns=["scheduled_for", "job_id", "status"])
        slots, jobs = narrow["scheduled_for"].cast(pa.int64()), narrow["job_id"]
        fits = pc.is_valid(jobs)
        if which.job_id is not None:
            fits = pc.and_(fits, pc.equal(jobs, which.job_id))
        if which.status is not None:
            fits = pc.and_(fits, pc.equal(narrow["status"], which.status.value))
        if which.since is not None:
            fits = pc.and_(fits, pc.greater_equal(slots, micros(which.since)))
        if which.until is not None:
            fits = pc.and_(fits, pc.less_equal(slots, micros(which.until)))
        if before is not None:
            slot = micros(before.scheduled_for)
            same_slot = pc.and_(pc.equal(slots, slot), pc.less(jobs, before.job_id))
            fits = pc.and_(fits, pc.or_(pc.less(slots, slot), same_slot))
        places = pc.indices_nonzero(fits)
        if len(places):
            found.append(
                pa.table(
                    {
                        "scheduled_for": slots.take(places),
                        "job_id": jobs.take(places),
                        "group": pa.repeat(group, len(places)),
                        "place": places,
                    }
                )
            )
    if not found:
        return []
    newest_first = [(name, "descending") for name in _BY_TIME]
    fitting = pa.concat_tables(found)
    chosen = fitting.take(pc.select_k_unstable(fitting, limit, newest_first))
    rows: list[dict[str, Any]] = []
    for group in pc.unique(chosen["group"]).to_pylist():
        places = chosen.filter(pc.equal(chosen["group"], group))["place"]
        rows += _dicts(file.read_row_group(group).take(places))
    return rows


def _groups(file: pq.ParquetFile, *, job_id: int | None) -> Iterator[int]:
    """The row groups that may hold rows of that job; of any job, all of them."""
    for number in range(file.num_row_groups):
        if job_id is not None:
            range_ = file.metadata.row_group(number).column(0).statistics
            if range_ is not None and not range_.min <= job_id <= range_.max:
                continue
        yield number


def _schema(table: Table) -> pa.Schema:
    return pa.schema([(name, _type_of(name)) for name in COLUMNS[table]])


def _type_of(name: str) -> pa.DataType:
    if name in _TIMES:
        return _TIME
    if name in _INTEGERS:
        return pa.int64()
    if name in _SMALL:
        return pa.int32()
    if name in _BYTES:
        return pa.binary()
    return pa.bool_() if name == "manual" else pa.string()


_SCHEMAS = {table: _schema(table) for table in Table}


def _page(table: Table, rows: list[Row]) -> pa.Table:
    schema = _SCHEMAS[table]
    columns = list(zip(*rows, strict=True))
    if "manual" in schema.names:
        place = schema.names.index("manual")
        columns[place] = tuple(map(bool, columns[place]))
    arrays = [
        pa.array(values, type=field.type) for field, values in zip(schema, columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _dicts(rows: pa.Table) -> list[dict[str, Any]]:
    """Rows as the stores have them: times as whole microseconds."""
    for place, field in enumerate(rows.schema):
        if field.type == _TIME:
            rows = rows.set_column(place, field.name, rows.column(place).cast(pa.int64()))
    found: list[dict[str, Any]] = rows.to_pylist()
    return found


def _flush(path: str) -> None:
    """Onto the disk: a file's content, or a folder's names."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
