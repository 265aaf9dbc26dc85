"""Old history as Parquet files, read as one with the rest, on both engines."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from duly.backends.parquet import ParquetArchive
from duly.clock import ManualClock, micros
from duly.errors import ArchiveUnavailable, InvalidConfig
from duly.flow.archive import archive_day
from duly.flow.history import find_run, list_runs, output_of, tries_of
from duly.history import Row, Table
from duly.run import Outcome, Output, PlannedRun, Run, RunKey, Status
from duly.store import RunFilter, RunStore, Settlement
from tests.engines import ENGINES, Stores

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
KEEP = timedelta(days=35)
OLD = date(2026, 10, 1)
SLOT = datetime(2026, 10, 1, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)


@dataclass(slots=True)
class Past:
    """Stores with a history, and the archive beside them."""

    stores: Stores
    archive: ParquetArchive
    folder: Path

    @property
    def runs(self) -> RunStore:
        return self.stores.runs

    async def have(self, job_id: int, slot: datetime, *outcomes: Outcome) -> RunKey:
        """A run whose tries ended like this, each having written something."""
        row = PlannedRun(job_id, micros(slot), micros(slot), "default", 5, True, 1)
        await self.runs.save([row])
        for place, outcome in enumerate(outcomes, 1):
            (run,) = (await self.runs.claim("w", ["default"], limit=1, now=NOW)).runs
            last = place == len(outcomes)
            good = outcome is Outcome.SUCCEEDED
            final = Status.SUCCEEDED if good else Status.DEAD
            end = Settlement(
                run,
                outcome,
                final if last else Status.QUEUED,
                finished_us=micros(slot + HOUR * place),
                started_us=micros(slot),
                due_us=None if last else micros(slot + HOUR),
                exit_code=0 if good else 1,
                reason=None if good else f"try {place} failed",
                output=Output(f"try {place} of j{job_id}".encode(), b"\x00\xff", 7),
            )
            assert await self.runs.settle([end]) == [True]
        return RunKey(job_id, slot)

    async def move_all(self) -> list[date]:
        """Archive until nothing is left to archive; the days."""
        days = []
        while events := await archive_day(self.runs, self.archive, before=NOW - KEEP):
            days += [event.day for event in events]  # type: ignore[union-attr]
        return days

    async def whole(self, which: RunFilter = RunFilter(), *, page: int = 100) -> list[Run]:  # noqa: B008
        """The history, page by page."""
        found: list[Run] = []
        before = None
        while runs := await list_runs(self.runs, self.archive, which, before=before, limit=page):
            found += runs
            before = runs[-1].key
        return found

    def files(self, table: Table, day: date = OLD) -> list[Path]:
        folder = self.folder / table / f"date={day.isoformat()}"
        return sorted(path for path in folder.glob("*") if not path.name.startswith("."))


@pytest.fixture(params=["sqlite", "postgres16", "postgres18"])
async def past(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Past]:
    stores = await ENGINES[request.param](tmp_path, ManualClock(NOW))
    folder = tmp_path / "archive"
    yield Past(stores, ParquetArchive(str(folder)), folder)
    await stores.remove()


async def test_a_day_that_is_old_enough_moves_and_is_read_as_before(past: Past) -> None:
    keys = [
        await past.have(1, SLOT, Outcome.SUCCEEDED),
        await past.have(2, SLOT, Outcome.FAILED, Outcome.FAILED),
        await past.have(1, SLOT + HOUR, Outcome.FAILED, Outcome.SUCCEEDED),
        await past.have(1, NOW - timedelta(days=34), Outcome.SUCCEEDED),
    ]
    before = await _all_of(past, keys)
    assert await past.move_all() == [OLD]
    assert [await past.runs.get(key) is None for key in keys] == [True, True, True, False]
    assert await _all_of(past, keys) == before
    assert [len(past.files(table)) for table in Table] == [1, 1, 1]
    assert await past.move_all() == []


async def _all_of(past: Past, keys: list[RunKey]) -> list[Any]:
    told = []
    for key in keys:
        run = await find_run(past.runs, past.archive, key)
        assert run is not None
        tries = await tries_of(past.runs, past.archive, run)
        outputs = [
            await output_of(past.runs, past.archive, run, attempt=attempt)
            for attempt in (None, 1, 2, 3)
        ]
        told.append((run, tries, outputs))
    return [*told, await past.whole()]


@pytest.mark.skipif(
    "DULY_TEST_S3" not in os.environ,
    reason="DULY_TEST_S3 names no place of an S3-compatible store to write to",
)
async def test_an_object_store_serves_as_well_as_a_folder(past: Past) -> None:
    keys = [
        await past.have(1, SLOT, Outcome.SUCCEEDED),
        await past.have(2, SLOT, Outcome.FAILED, Outcome.FAILED),
    ]
    before = await _all_of(past, keys)
    place, mark, query = os.environ["DULY_TEST_S3"].partition("?")
    past.archive = ParquetArchive(f"{place}/{time.time_ns()}{mark}{query}")
    assert await past.move_all() == [OLD]
    assert await past.runs.history(RunFilter()) == []
    assert await _all_of(past, keys) == before
    assert await past.move_all() == []


@pytest.mark.parametrize("page", [1, 2, 3, 7, 100])
async def test_pages_and_filters_cross_from_hot_to_archived_history(past: Past, page: int) -> None:
    slots = [SLOT + timedelta(days=4 * number, hours=number) for number in range(13)]
    for number, slot in enumerate(slots):
        await past.have(1, slot, Outcome.SUCCEEDED)
        await past.have(2, slot, Outcome.FAILED if number % 3 else Outcome.SUCCEEDED)
    which = [
        RunFilter(),
        RunFilter(job_id=2),
        RunFilter(status=Status.DEAD),
        RunFilter(job_id=2, status=Status.SUCCEEDED),
        RunFilter(since=slots[2], until=slots[8]),
        RunFilter(job_id=3),
    ]
    before = [await past.whole(each) for each in which]
    assert len(before[0]) == 26
    assert len(await past.move_all()) == 7
    assert [await past.whole(each, page=page) for each in which] == before


async def test_open_runs_of_an_old_day_stay_and_follow_when_they_end(past: Past) -> None:
    """A job that stood still for months, or waits for a retry."""
    done = await past.have(1, SLOT, Outcome.SUCCEEDED)
    waiting = PlannedRun(2, micros(SLOT), micros(SLOT), "slow", 5, True, 1)
    await past.runs.save([waiting])
    await past.move_all()
    assert await past.runs.get(done) is None
    (run,) = (await past.runs.claim("w", ["slow"], limit=1)).runs
    end = Settlement(run, Outcome.SUCCEEDED, Status.SUCCEEDED, micros(NOW))
    assert await past.runs.settle([end]) == [True]
    assert len(await past.whole()) == 2
    assert await past.move_all() == [OLD]
    assert await past.runs.get(run.key) is None
    assert [each.key for each in await past.whole()] == [run.key, done]
    assert len(past.files(Table.RUNS)) == 2


async def test_rows_that_come_in_meanwhile_keep_the_day_where_it_is(past: Past) -> None:
    first = await past.have(1, SLOT, Outcome.SUCCEEDED)

    class Late(ParquetArchive):
        """More comes to the day between two steps."""

        async def keep(self, day: date, table: Table, pages: Any) -> int | None:
            count = await super().keep(day, table, pages)
            if table is Table.RUNS:
                late.append(await past.have(2 + len(late), SLOT, Outcome.SUCCEEDED))
            return count

    late: list[RunKey] = []
    archive = Late(str(past.folder))
    assert await archive_day(past.runs, archive, before=NOW - KEEP) == []
    assert await past.runs.get(first) is not None
    assert await past.runs.get(late[0]) is not None
    assert len(await past.whole()) == 2
    assert await past.move_all() == [OLD]
    assert {run.key for run in await past.whole()} == {first, *late}


class Killed(Exception):
    """The process ends here."""


class Dying(ParquetArchive):
    """Dies at its n-th step."""

    def __init__(self, place: str, steps: int) -> None:
        super().__init__(place)
        self.steps = steps

    async def _do(self, work: Any, *args: Any, **kwargs: Any) -> Any:
        self.steps -= 1
        if self.steps < 0:
            raise Killed
        return await super()._do(work, *args, **kwargs)


async def test_an_archiving_that_is_killed_at_any_step_loses_and_doubles_nothing(
    past: Past,
) -> None:
    await past.have(1, SLOT, Outcome.FAILED, Outcome.SUCCEEDED)
    await past.have(2, SLOT, Outcome.SUCCEEDED)
    before = await past.whole()
    for steps in range(100):
        try:
            await archive_day(past.runs, Dying(str(past.folder), steps), before=NOW - KEEP)
        except Killed:
            assert await past.whole() == before, f"killed at step {steps}"
            assert [len(past.files(table)) <= 1 for table in Table] == [True] * 3
        else:
            break
    assert steps > 10
    assert await past.whole() == before
    assert await past.runs.days(NOW - KEEP, limit=1) == []
    assert list(past.folder.rglob(".*")) == []


async def test_a_day_that_stands_in_both_places_is_dropped_without_writing_it_again(
    past: Past,
) -> None:
    await past.have(1, SLOT, Outcome.FAILED, Outcome.SUCCEEDED)
    forget = past.runs.forget_day

    async def killed(day: date, counts: Mapping[Table, int]) -> bool:
        raise Killed

    past.runs.forget_day = killed  # type: ignore[method-assign]
    with pytest.raises(Killed):
        await archive_day(past.runs, past.archive, before=NOW - KEEP)
    past.runs.forget_day = forget  # type: ignore[method-assign]
    files = {table: past.files(table) for table in Table}
    assert len(await past.whole()) == 1
    assert await past.move_all() == [OLD]
    assert {table: past.files(table) for table in Table} == files


async def test_a_file_that_does_not_read_back_as_written_drops_nothing(past: Past) -> None:
    key = await past.have(1, SLOT, Outcome.SUCCEEDED)

    class Rotten(ParquetArchive):
        """A disk that changes what it is given."""

        async def _write(self, path: str, table: Table, pages: Any) -> bool:
            async def changed() -> AsyncIterator[list[Row]]:
                async for rows in pages():
                    yield [(row[0] + 1, *row[1:]) for row in rows]

            return await super()._write(path, table, changed)

    assert await archive_day(past.runs, Rotten(str(past.folder)), before=NOW - KEEP) == []
    assert await past.runs.get(key) is not None
    assert past.files(Table.OUTPUTS) == []


async def test_files_are_sorted_by_job_compressed_and_typed_for_other_tools(past: Past) -> None:
    for job_id in (9, 3, 7):
        await past.have(job_id, SLOT, Outcome.SUCCEEDED)
    await past.move_all()
    (path,) = past.files(Table.RUNS)
    file = pq.ParquetFile(path)
    table = file.read()
    assert table["job_id"].to_pylist() == [3, 7, 9]
    assert table["scheduled_for"].to_pylist() == [SLOT] * 3
    assert table["finished_at"].to_pylist() == [SLOT + HOUR] * 3
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert [each.column_index for each in file.metadata.row_group(0).sorting_columns] == [0, 1]


async def test_nothing_is_archived_before_its_day_is_wholly_old(past: Past) -> None:
    edge = datetime.combine((NOW - KEEP).date(), datetime.min.time(), UTC)
    await past.have(1, edge - timedelta(microseconds=1), Outcome.SUCCEEDED)
    await past.have(1, edge, Outcome.SUCCEEDED)
    assert await past.move_all() == [edge.date() - timedelta(days=1)]
    assert len(await past.runs.history(RunFilter())) == 1


async def test_a_job_finds_its_runs_among_many_others(past: Past) -> None:
    rows = [
        PlannedRun(
            job_id,
            micros(SLOT) + second * 1_000_000,
            micros(SLOT),
            "default",
            5,
            True,
            1,
            status=Status.SKIPPED.value,
            reason="missed",
        )
        for job_id in range(1, 501)
        for second in range(20)
    ]
    await past.runs.save(rows)
    await past.move_all()
    found = await past.whole(RunFilter(job_id=250), page=7)
    assert [run.key for run in found] == [
        RunKey(250, SLOT + timedelta(seconds=second)) for second in reversed(range(20))
    ]
    last = await list_runs(past.runs, past.archive, RunFilter(), limit=3)
    assert [run.key.job_id for run in last] == [500, 499, 498]


async def test_an_archive_that_does_not_answer_is_told_as_such(past: Past) -> None:
    await past.have(1, SLOT, Outcome.SUCCEEDED)
    past.folder.write_text("a file where the folder should be")
    with pytest.raises(ArchiveUnavailable, match="archive"):
        await archive_day(past.runs, past.archive, before=NOW - KEEP)
    assert len(await past.runs.history(RunFilter())) == 1


def test_a_place_that_is_none_is_told_as_such() -> None:
    with pytest.raises(InvalidConfig, match="no place for an archive"):
        ParquetArchive("nonsense://x")
