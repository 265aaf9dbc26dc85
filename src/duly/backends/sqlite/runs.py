"""The runs database on SQLite. See `duly.store.RunStore` for what each verb promises."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from duly.backends import named_queries
from duly.backends.job_rows import optional_instant
from duly.backends.run_rows import claimed_run_of, lost_run_of, run_of, try_of
from duly.backends.sqlite import old_days
from duly.backends.sqlite.database import Database, fetch_array
from duly.clock import Clock, instant, micros
from duly.history import Row, Table
from duly.run import (
    ClaimedRun,
    Outcome,
    Output,
    PlannedRun,
    PlannedSlot,
    Run,
    RunKey,
    Status,
    Try,
)
from duly.store import Backlog, Claim, LostRun, RunFilter, Settlement, WorkerInfo

_SQL = named_queries.load("duly.backends.sqlite", "runs.sql")

_FOREVER = (1 << 63) - 1


class SqliteRunStore:
    """`RunStore` in one file. The database's clock is this machine's."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._database = Database(path, "runs")
        self._clock = clock

    async def now(self) -> datetime:
        return self._clock.now()

    async def save(self, rows: Sequence[PlannedRun], *, now: datetime | None = None) -> int:
        at = self._at(now)

        def work(db: sqlite3.Connection) -> int:
            saved = db.executemany(_SQL["save_run"], ((*row, at) for row in rows)).rowcount
            return saved if saved == len(rows) else saved + _take_up(db, rows, at)

        return await self._database.write(work)

    async def save_slots(self, slots: Sequence[PlannedSlot], *, now: datetime | None = None) -> int:
        at = self._at(now)
        return await self._database.write(
            lambda db: sum(_save_slot(db, slot, at) for slot in slots)
        )

    async def claim(
        self, worker: str, queues: Sequence[str], *, limit: int, now: datetime | None = None
    ) -> Claim:
        # Looking first takes no write lock, so an idle worker disturbs nobody.
        at = self._at(now)
        next_due = _next_due(await self._database.read(lambda db: _lanes(db, queues)))
        if limit < 1 or next_due is None or next_due > at:
            return Claim([], [], optional_instant(next_due), instant(at))

        def work(db: sqlite3.Connection) -> Claim:
            due = _due_runs(db, queues, at, limit)
            startable, skipped = _part(db, due)
            db.executemany(_SQL["skip_run"], ((why, at, job, slot) for job, slot, why in skipped))
            first_token = _take_tokens(db, len(startable))
            claimed = [
                ClaimedRun(*row[:3], row[3] + 1, token, row[4], manual=bool(row[5]))
                for token, row in enumerate(startable, first_token)
            ]
            values = {
                "worker": worker,
                "first_token": first_token,
                "now": at,
                "pairs": json.dumps([(row[1], row[0]) for row in startable]),
            }
            db.execute(_SQL["claim_runs"], values)
            following = _next_due(_lanes(db, queues))
            return Claim(
                claimed,
                [RunKey(job, instant(slot)) for job, slot, _ in skipped],
                optional_instant(following),
                instant(at),
            )

        return await self._database.write(work)

    async def held(self, worker: str) -> list[ClaimedRun]:
        rows = await self._database.read(lambda db: _rows(db, "held_runs", {"worker": worker}))
        return [claimed_run_of(row) for row in rows]

    async def settle(self, settlements: Sequence[Settlement]) -> list[bool]:
        return await self._database.write(lambda db: _settle_all(db, settlements))

    async def void(
        self, job_id: int, *, after: datetime | None, version: int, reason: str
    ) -> list[RunKey]:
        values = {
            "job_id": job_id,
            "after": None if after is None else micros(after),
            "version": version,
            "reason": reason,
            "now": self._at(None),
        }
        rows = await self._database.write(
            lambda db: db.execute(_SQL["void_runs"], values).fetchall()
        )
        return [RunKey(job_id, instant(slot)) for (slot,) in rows]

    async def cancel(self, key: RunKey, *, reason: str, now: datetime | None = None) -> bool:
        values = _key(key) | {"reason": reason, "now": self._at(now)}
        return await self._database.write(
            lambda db: db.execute(_SQL["cancel_run"], values).rowcount == 1
        )

    async def get(self, key: RunKey) -> Run | None:
        rows = await self._database.read(lambda db: _rows(db, "run", _key(key)))
        return run_of(rows[0]) if rows else None

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
        query = "list_runs"
        if which.job_id is not None:
            query = "list_runs_of_job"
        elif which.status is Status.DEAD:
            query = "list_dead_runs"
        rows = await self._database.read(lambda db: _rows(db, query, values))
        return [run_of(row) for row in rows]

    async def tries(self, key: RunKey) -> list[Try]:
        rows = await self._database.read(lambda db: _rows(db, "tries_of_run", _key(key)))
        return [try_of(row) for row in rows]

    async def output(self, key: RunKey, *, attempt: int | None = None) -> Output | None:
        values = _key(key) | {"attempt": attempt}
        rows = await self._database.read(lambda db: _rows(db, "output_of_run", values))
        return Output(*rows[0]) if rows else None

    async def beat(self, worker: WorkerInfo, *, now: datetime | None = None) -> None:
        values = {
            "id": worker.id,
            "host": worker.host,
            "pid": worker.pid,
            "queues": json.dumps(worker.queues),
            "concurrency": worker.concurrency,
            "started_at": micros(worker.started_at),
            "now": self._at(now),
        }
        await self._database.write(lambda db: db.execute(_SQL["beat"], values))

    async def end_worker(self, worker: str) -> None:
        await self._database.write(lambda db: db.execute(_SQL["end_worker"], {"id": worker}))

    async def workers(self) -> list[WorkerInfo]:
        rows = await self._database.read(lambda db: db.execute(_SQL["workers"]).fetchall())
        return [
            WorkerInfo(
                row[0],
                row[1],
                row[2],
                tuple(json.loads(row[3])),
                row[4],
                instant(row[5]),
                instant(row[6]),
            )
            for row in rows
        ]

    async def lost(
        self, *, silent_for: timedelta, limit: int, now: datetime | None = None
    ) -> list[LostRun]:
        alive_since = self._at(now) - micros(instant(0) + silent_for)
        values = {"alive_since": alive_since, "limit": limit}
        rows = await self._database.read(lambda db: _rows(db, "lost_runs", values))
        return [lost_run_of(row) for row in rows]

    async def backlog(self, *, now: datetime | None = None) -> Backlog:
        at = self._at(now)

        def work(db: sqlite3.Connection) -> Backlog:
            counts = {Status(s): n for s, n in db.execute(_SQL["count_runs"])}
            claimable, oldest = db.execute(_SQL["backlog"], {"now": at}).fetchone()
            return Backlog(counts, claimable, optional_instant(oldest))

        return await self._database.read(work)

    async def make_room(self, until: datetime) -> None:
        """One table holds all days."""

    async def days(self, before: datetime, *, limit: int) -> list[date]:
        return await old_days.days(self._database, micros(before), limit)

    async def export(
        self, table: Table, day: date, *, after: Row | None = None, limit: int
    ) -> list[Row]:
        return await old_days.export(self._database, table, day, after, limit)

    async def forget_day(self, day: date, counts: Mapping[Table, int]) -> bool:
        return await old_days.forget(self._database, day, counts)

    async def close(self) -> None:
        await self._database.close()

    def _at(self, now: datetime | None) -> int:
        return micros(now or self._clock.now())


def _save_slot(db: sqlite3.Connection, slot: PlannedSlot, at: int) -> int:
    values: dict[str, Any] = {
        "slot": slot.slot_us,
        "queue": slot.queue,
        "priority": slot.priority,
        "exclusive": slot.exclusive,
        "schedule_version": slot.schedule_version,
        "now": at,
    }
    dues = [slot.slot_us + offset_us for offset_us in slot.offsets_us]
    if all(due == dues[0] for due in dues):
        values |= {"ids": json.dumps(slot.job_ids), "due_at": dues[0]}
        saved = db.execute(_SQL["save_slot"], values).rowcount
    else:
        values["pairs"] = json.dumps(list(zip(slot.job_ids, dues, strict=True)))
        saved = db.execute(_SQL["save_jittered_slot"], values).rowcount
    if saved < len(dues):
        rows = (
            PlannedRun(job, slot.slot_us, due, *slot[1:5])
            for job, due in zip(slot.job_ids, dues, strict=True)
        )
        saved += _take_up(db, rows, at)
    return saved


def _take_up(db: sqlite3.Connection, rows: Iterable[PlannedRun], at: int) -> int:
    """Rows that were there already: revive those that an edit had voided."""
    return db.executemany(_SQL["take_up_run"], ((*row, at) for row in rows)).rowcount


# job_id, scheduled_for, due_at, attempts, schedule_version, manual, exclusive
_Due = tuple[int, int, int, int, int, int, int]


def _due_runs(db: sqlite3.Connection, queues: Sequence[str], at: int, limit: int) -> list[_Due]:
    due: list[_Due] = []
    for lane in _lanes(db, queues):
        if lane.due_us <= at and len(due) < limit:
            values = (lane.queue, lane.priority, at, limit - len(due))
            due += sorted(fetch_array(db, _SQL["claimable"], values), key=itemgetter(2))
    return due


def _part(
    db: sqlite3.Connection, due: Iterable[_Due]
) -> tuple[list[_Due], list[tuple[int, int, str]]]:
    """Part due runs into those that may start and those that an open run is in the way of.

    The write lock is held, so nothing opens in between; `runs_open` would refuse it anyway.
    """
    due = list(due)
    ids = json.dumps([row[0] for row in due if row[6]])
    in_the_way = {
        job: (slot, status) for job, slot, status in db.execute(_SQL["open_runs"], {"ids": ids})
    }
    startable: list[_Due] = []
    skipped: list[tuple[int, int, str]] = []
    for row in due:
        job, slot, exclusive = row[0], row[1], row[6]
        if exclusive and (other := in_the_way.get(job)) is not None and other[0] != slot:
            key = RunKey(job, instant(other[0]))
            state = "was still running" if other[1] == Status.RUNNING else "was waiting for a retry"
            skipped.append((job, slot, f"overlap: {key} {state}"))
            continue
        if exclusive:
            in_the_way[job] = (slot, Status.RUNNING)
        startable.append(row)
    return startable, skipped


def _take_tokens(db: sqlite3.Connection, amount: int) -> int:
    """Reserve a range of tokens; its first."""
    (last,) = db.execute(_SQL["take_tokens"], {"amount": amount}).fetchone()
    return int(last) - amount + 1


class _Lane(NamedTuple):
    """A priority of a queue in which runs wait, and when the first of them falls due."""

    queue: str
    priority: int
    due_us: int


def _lanes(db: sqlite3.Connection, queues: Sequence[str]) -> list[_Lane]:
    """The lanes where runs wait, in the order of claims."""
    lanes = (_Lane(*row) for row in fetch_array(db, _SQL["lanes"], (json.dumps(queues),)))
    return sorted(lanes, key=lambda lane: (lane.priority, queues.index(lane.queue)))


def _next_due(lanes: Iterable[_Lane]) -> int | None:
    return min((lane.due_us for lane in lanes), default=None)


def _settle_all(db: sqlite3.Connection, ends: Sequence[Settlement]) -> list[bool]:
    """All at once where all are held, which is nearly always; else one by one, to know which."""
    plain = [end for end in ends if end.plain]
    others = [end for end in ends if not end.plain]
    db.execute("SAVEPOINT ends")
    changed = _settle(db, "settle_successes", _success, plain)
    changed += _settle(db, "settle_runs", _settle_row, others)
    if changed == len(ends):
        held = [True] * changed
    else:
        db.execute("ROLLBACK TO ends")
        held = [_settle(db, "settle_runs", _settle_row, [end]) == 1 for end in ends]
    db.execute("RELEASE ends")
    for end, ours in zip(ends, held, strict=True):
        if ours and not end.plain:
            _record(db, end)
    return held


def _settle(
    db: sqlite3.Connection,
    query: str,
    row_of: Callable[[Settlement], tuple[Any, ...]],
    ends: Sequence[Settlement],
) -> int:
    return db.execute(_SQL[query], (json.dumps([row_of(end) for end in ends]),)).rowcount


def _success(end: Settlement) -> tuple[Any, ...]:
    run = end.run
    return run.job_id, run.slot_us, run.token, end.started_us, end.finished_us


def _settle_row(end: Settlement) -> tuple[Any, ...]:
    run = end.run
    return (
        run.job_id,
        run.slot_us,
        run.token,
        end.status,
        end.due_us,
        0 if end.counts else 1,
        1 if end.outcome is Outcome.INTERRUPTED else 0,
        end.started_us,
        end.finished_us,
        end.exit_code,
        end.signal,
        end.reason,
        1 if end.outcome is Outcome.CANCELED else 0,
    )


def _record(db: sqlite3.Connection, end: Settlement) -> None:
    """Beside the run's row: its try, and what that wrote."""
    run = end.run
    key = (run.job_id, run.slot_us)
    if end.outcome is not Outcome.SUCCEEDED or run.attempt > 1:
        facts = (run.attempt, end.outcome, end.finished_us, end.exit_code, end.signal, end.reason)
        db.execute(_SQL["record_try"], (*facts, *key))
    if end.output is not None and end.output.head:
        kept = (end.output.head, end.output.tail, end.output.dropped)
        db.execute(_SQL["keep_output"], (*key, run.token, run.attempt, *kept))


def _rows(db: sqlite3.Connection, query: str, values: dict[str, Any]) -> list[sqlite3.Row]:
    cursor = db.cursor()
    cursor.row_factory = sqlite3.Row
    return cursor.execute(_SQL[query], values).fetchall()


def _key(key: RunKey) -> dict[str, Any]:
    return {"job_id": key.job_id, "scheduled_for": micros(key.scheduled_for)}
