"""The runs database on PostgreSQL. See `duly.store.RunStore` for what each verb promises."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

import asyncpg

from duly.backends.job_rows import optional_instant, optional_micros
from duly.backends.postgres import planned
from duly.backends.postgres.database import Database, listed, load_queries
from duly.backends.postgres.days import days_there, forget, make_days
from duly.backends.postgres.floor import LOWEST
from duly.backends.postgres.lanes import Lanes, Look
from duly.backends.run_rows import claimed_run_of, lost_run_of, run_of, try_of
from duly.clock import DAY_US, Clock, day_bounds, day_of, instant, micros
from duly.encoding import to_micros
from duly.errors import StoreUnavailable
from duly.history import Row, Table
from duly.run import ClaimedRun, Output, PlannedRun, PlannedSlot, Run, RunKey, Status, Try
from duly.store import Backlog, Claim, LostRun, RunFilter, Settlement, WorkerInfo

T = TypeVar("T")

_SQL = load_queries("runs.sql")
_FOREVER = (1 << 63) - 1
# How often a claim is repeated that another one was in the way of.
_CLAIMS = 5
# How many claims look for overlaps after one that met any: those rarely come alone.
_JUDGED = 100
# Slots of fewer jobs than this are saved together, row by row.
_MANY = 100
_OPEN = (Status.QUEUED, Status.RUNNING)


class PostgresRunStore:
    """`RunStore` in one database, by its clock.

    Args:
        clock: only tests bring one, in place of the database's.
        local: this machine's, for the time between looks at the front of the queue.
    """

    def __init__(
        self, database: Database, clock: Clock | None = None, *, local: Clock | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._lanes = Lanes(local)
        self._judged = 0  # claims that still look for overlaps

    async def now(self) -> datetime:
        if self._clock is not None:
            return self._clock.now()
        (row,) = await self._database.fetch(_SQL["now"])
        return instant(row[0])

    async def save(self, rows: Sequence[PlannedRun], *, now: datetime | None = None) -> int:
        if not rows:
            return 0
        at = self._at(now)

        async def work() -> int:
            async with self._database.transaction() as session:
                return await planned.save(session, rows, at)

        return await self._filing({row.slot_us for row in rows}, work)

    async def save_slots(self, slots: Sequence[PlannedSlot], *, now: datetime | None = None) -> int:
        at, saved = self._at(now), 0
        rows: list[PlannedRun] = []
        for slot in slots:
            if len(slot.job_ids) < _MANY:
                rows += planned.rows_of(slot)
                continue
            try:
                async with self._database.transaction() as session:
                    saved += await planned.save_slot(session, slot, at)
            except asyncpg.UniqueViolationError:
                rows += planned.rows_of(slot)
        if rows:
            async with self._database.transaction() as session:
                saved += await planned.save(session, rows, at)
        return saved

    async def claim(
        self, worker: str, queues: Sequence[str], *, limit: int, now: datetime | None = None
    ) -> Claim:
        at = self._at(now)
        if limit < 1 or not self._lanes.sure():
            look = await self._look(queues, at)
            if limit < 1 or look.next_due_us is None or look.next_due_us > look.now_us:
                return Claim([], [], optional_instant(look.next_due_us), instant(look.now_us))
        rows = await self._claim(worker, queues, limit=limit, now=at)
        if len(rows) == limit:
            # More may be due, so the next claim comes at once.
            now_us = next_due_us = rows[0]["now"]
            self._lanes.claimed(rows, now_us=now_us)
        else:
            next_due_us, now_us = await self._look(queues, at)
        return Claim(
            [ClaimedRun(*row[:7]) for row in rows if row[3]],
            [RunKey(row[0], instant(row[1])) for row in rows if not row[3]],
            optional_instant(next_due_us),
            instant(now_us),
        )

    async def held(self, worker: str) -> list[ClaimedRun]:
        rows = await self._database.fetch(_SQL["held_runs"], worker=worker)
        return [claimed_run_of(row) for row in rows]

    async def settle(self, settlements: Sequence[Settlement]) -> list[bool]:
        held = set[int]()
        # Of one run, the ends come one after the other: a statement sees each row once.
        for part in _without_repeats(settlements):
            days = {end.run.slot_us for _, end in part}
            held |= await self._filing(days, partial(self._settle, part))
        return [place in held for place in range(len(settlements))]

    async def void(
        self, job_id: int, *, after: datetime | None, version: int, reason: str
    ) -> list[RunKey]:
        at = await self.now()

        async def work() -> list[Any]:
            return await self._database.fetch(
                _SQL["void_runs"],
                job_id=job_id,
                after=optional_micros(after),
                version=version,
                reason=reason,
                now=micros(at),
            )

        rows = await self._filing(None, work, of_job=job_id)
        return [RunKey(job_id, instant(row[0])) for row in rows]

    async def cancel(self, key: RunKey, *, reason: str, now: datetime | None = None) -> bool:
        at = micros(now or await self.now())

        async def work() -> list[Any]:
            return await self._database.fetch(
                _SQL["cancel_run"], reason=reason, now=at, **_key(key)
            )

        return bool(await self._filing({micros(key.scheduled_for)}, work))

    async def get(self, key: RunKey) -> Run | None:
        row = await self._database.row(_SQL["run"], **_key(key))
        return None if row is None else run_of(row)

    async def history(
        self, which: RunFilter, *, before: RunKey | None = None, limit: int = 100
    ) -> list[Run]:
        values = {
            "job_id": which.job_id,
            "status": which.status,
            "since": -_FOREVER if which.since is None else micros(which.since),
            "until": _FOREVER if which.until is None else micros(which.until),
            "before_slot": _FOREVER if before is None else micros(before.scheduled_for),
            "before_job": _FOREVER if before is None else before.job_id,
            "limit": limit,
        }
        rows: list[Any] = []
        if which.status is None or which.status in _OPEN:
            rows += await self._database.fetch(_SQL["list_open_runs"], **values)
        if which.status not in _OPEN:
            rows += await self._database.fetch(_SQL[_list_query(which)], **values)
        # A run that ends between the two reads is in both: what is over comes last, and counts.
        found = {(row["scheduled_for"], row["job_id"]): row for row in rows}
        return [run_of(found[key]) for key in sorted(found, reverse=True)[:limit]]

    async def tries(self, key: RunKey) -> list[Try]:
        return [
            try_of(row) for row in await self._database.fetch(_SQL["tries_of_run"], **_key(key))
        ]

    async def output(self, key: RunKey, *, attempt: int | None = None) -> Output | None:
        row = await self._database.row(_SQL["output_of_run"], attempt=attempt, **_key(key))
        return None if row is None else Output(*row)

    async def beat(self, worker: WorkerInfo, *, now: datetime | None = None) -> None:
        await self._database.execute(
            _SQL["beat"],
            id=worker.id,
            host=worker.host,
            pid=worker.pid,
            queues=list(worker.queues),
            concurrency=worker.concurrency,
            started_at=micros(worker.started_at),
            now=self._at(now),
        )

    async def end_worker(self, worker: str) -> None:
        await self._database.execute(_SQL["end_worker"], id=worker)

    async def workers(self) -> list[WorkerInfo]:
        return [
            WorkerInfo(
                row[0], row[1], row[2], tuple(row[3]), row[4], instant(row[5]), instant(row[6])
            )
            for row in await self._database.fetch(_SQL["workers"])
        ]

    async def lost(
        self, *, silent_for: timedelta, limit: int, now: datetime | None = None
    ) -> list[LostRun]:
        rows = await self._database.fetch(
            _SQL["lost_runs"], silent_for=to_micros(silent_for), limit=limit, now=self._at(now)
        )
        return [lost_run_of(row) for row in rows]

    async def backlog(self, *, now: datetime | None = None) -> Backlog:
        row = await self._database.row(_SQL["backlog"], now=self._at(now))
        assert row is not None
        counts = {status: row[status.value] for status in (*_OPEN, Status.DEAD)}
        return Backlog(counts, row["claimable"], optional_instant(row["oldest"]))

    async def make_room(self, until: datetime) -> None:
        today, last = (await self.now()).date(), until.astimezone(UTC).date()
        ahead = range((last - today).days + 1)
        await make_days(self._database, [today + timedelta(days=number) for number in ahead])

    async def days(self, before: datetime, *, limit: int) -> list[date]:
        there = await days_there(self._database)
        return [day for day in there if day < before.astimezone(UTC).date()][:limit]

    async def export(
        self, table: Table, day: date, *, after: Row | None = None, limit: int
    ) -> list[Row]:
        first, end = day_bounds(day)
        values = {
            "first": first,
            "end": end,
            "limit": limit,
            "after_job": LOWEST if after is None else after[0],
            "after_slot": LOWEST if after is None else after[1],
            "after_token": LOWEST if after is None else after[2],
        }
        return [tuple(row) for row in await self._database.fetch(_SQL[f"export_{table}"], **values)]

    async def forget_day(self, day: date, counts: Mapping[Table, int]) -> bool:
        return await forget(self._database, day, counts)

    async def close(self) -> None:
        await self._database.close()

    async def _look(self, queues: Sequence[str], at: int | None) -> Look:
        """When the next run falls due; again while that brings lanes that were not known."""
        while True:
            rows = await self._database.fetch(_SQL["look"], now=at, **self._lanes.all_of(queues))
            look = self._lanes.looked(rows)
            if look is not None:
                return look

    async def _claim(
        self, worker: str, queues: Sequence[str], *, limit: int, now: int | None
    ) -> list[Any]:
        """A claim. Where another one opens a run of the same job meanwhile, it starts over."""
        values = {
            "worker": worker,
            "limit": limit,
            "now": now,
            **self._lanes.known(queues),
        }

        async def work() -> list[Any]:
            for _ in range(_CLAIMS):
                query = "claim_judged" if self._judged else "claim"
                self._judged = max(0, self._judged - 1)
                try:
                    return await self._database.fetch(_SQL[query], **values)
                except asyncpg.UniqueViolationError:
                    self._judged = _JUDGED
            raise StoreUnavailable("other claims were in the way; the next one will find its turn")

        return await self._filing(None, work)

    async def _settle(self, part: Sequence[tuple[int, Settlement]]) -> set[int]:
        """Settle in one transaction; the places of those that were held."""
        plain = [each for each in part if each[1].plain]
        others = [each for each in part if not each[1].plain]
        whole = self._database.transaction if plain and others else self._database.session
        held = set[int]()
        async with whole() as session:
            if plain:
                values = _success_values([end for _, end in plain])
                rows = await session.fetch(_SQL["settle_successes"], **values)
                held |= {plain[row[0] - 1][0] for row in rows}
            if others:
                values = _settle_values([end for _, end in others])
                rows = await session.fetch(_SQL["settle"], **values)
                held |= {others[row[0] - 1][0] for row in rows}
        return held

    async def _filing(
        self,
        slots_us: Iterable[int] | None,
        work: Callable[[], Awaitable[T]],
        *,
        of_job: int | None = None,
    ) -> T:
        """Do what files rows into history; where a day has no partition yet, make it first."""
        try:
            return await work()
        except asyncpg.CheckViolationError as error:
            if error.constraint_name is not None:
                raise
        await make_days(self._database, await self._days(slots_us, of_job))
        return await work()

    async def _days(self, slots_us: Iterable[int] | None, of_job: int | None) -> set[date]:
        if slots_us is None:
            rows = await self._database.fetch(_SQL["open_days"], job_id=of_job)
            return {day_of(row[0] * DAY_US) for row in rows}
        return {day_of(slot) for slot in slots_us}

    def _at(self, now: datetime | None) -> int | None:
        if now is not None:
            return micros(now)
        return None if self._clock is None else micros(self._clock.now())


def _without_repeats(
    settlements: Sequence[Settlement],
) -> list[list[tuple[int, Settlement]]]:
    """The settlements with their places, cut so that no part has a run twice."""
    if len({end.run[:2] for end in settlements}) == len(settlements):
        return [list(enumerate(settlements))] if settlements else []
    parts: list[list[tuple[int, Settlement]]] = [[]]
    seen: set[tuple[int, int]] = set()
    for place, end in enumerate(settlements):
        key = (end.run.job_id, end.run.slot_us)
        if key in seen:
            parts.append([])
            seen = set()
        seen.add(key)
        parts[-1].append((place, end))
    return parts


def _settle_values(ends: Sequence[Settlement]) -> dict[str, Any]:
    outputs = [end.output if end.output and end.output.head else None for end in ends]
    return {
        "job_ids": listed(end.run.job_id for end in ends),
        "slots": listed(end.run.slot_us for end in ends),
        "tokens": listed(end.run.token for end in ends),
        "outcomes": listed(end.outcome for end in ends),
        "statuses": listed(end.status for end in ends),
        "finished_ats": listed(end.finished_us for end in ends),
        "started_ats": listed(end.started_us for end in ends),
        "due_ats": listed(end.due_us for end in ends),
        "given_back": listed(0 if end.counts else 1 for end in ends),
        "exit_codes": listed(end.exit_code for end in ends),
        "signals": listed(end.signal for end in ends),
        "reasons": _unless_none(end.reason for end in ends),
        "heads": _unless_none(None if output is None else output.head for output in outputs),
        "tails": _unless_none(None if output is None else output.tail for output in outputs),
        "dropped": listed(None if output is None else output.dropped for output in outputs),
    }


def _success_values(ends: Sequence[Settlement]) -> dict[str, Any]:
    return {
        "job_ids": listed(end.run.job_id for end in ends),
        "slots": listed(end.run.slot_us for end in ends),
        "tokens": listed(end.run.token for end in ends),
        "finished_ats": listed(end.finished_us for end in ends),
        "started_ats": listed(end.started_us for end in ends),
    }


def _unless_none(values: Iterable[Any]) -> list[Any] | None:
    """None in place of a list of nothing else: to `unnest` the same, and sent for nothing."""
    told = list(values)
    return None if told.count(None) == len(told) else told


def _list_query(which: RunFilter) -> str:
    if which.job_id is not None:
        return "list_runs_of_job"
    return "list_dead_runs" if which.status is Status.DEAD else "list_runs"


def _key(key: RunKey) -> dict[str, Any]:
    return {"job_id": key.job_id, "scheduled_for": micros(key.scheduled_for)}
