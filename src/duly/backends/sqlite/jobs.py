"""The jobs database on SQLite. See `duly.store.JobStore` for what each verb promises."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from duly.backends import named_queries
from duly.backends.job_rows import added_job, changed_values, job_of, new_values, task_of
from duly.backends.sqlite.database import Database, fetch_array
from duly.clock import Clock, micros
from duly.errors import KeyReused
from duly.job import Job, JobState, Task
from duly.store import (
    Added,
    DueGroup,
    JobFilter,
    Move,
    NameConflict,
    NewJob,
    RequestKey,
    StoredAnswer,
)

_SQL = named_queries.load("duly.backends.sqlite", "jobs.sql")

_Answer = Callable[[Job], StoredAnswer]


class SqliteJobStore:
    """`JobStore` in one file. The database's clock is this machine's."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._database = Database(path, "jobs")
        self._clock = clock

    async def now(self) -> datetime:
        return self._clock.now()

    async def add(
        self,
        new: NewJob,
        *,
        request: RequestKey | None = None,
        answer: _Answer | None = None,
        now: datetime | None = None,
    ) -> Added:
        at = now or self._clock.now()

        def work(db: sqlite3.Connection) -> Added:
            if request is not None:
                known = _recall(db, request)
                if known is not None and known["job_id"] is not None:
                    row = _fetch(db, "job_by_id", {"id": known["job_id"]})
                    return Added(job_of(row), created=False)
            (added,) = _add(db, [new], at)
            if added.created and request is not None and answer is not None:
                _store_answer(db, request, answer(added.job), added.job.id, at)
            return added

        return await self._database.write(work)

    async def add_many(self, new: Sequence[NewJob], *, now: datetime | None = None) -> list[Added]:
        at = now or self._clock.now()
        return await self._database.write(lambda db: _add(db, new, at))

    async def recall(self, request: RequestKey) -> StoredAnswer | None:
        known = await self._database.read(lambda db: _recall(db, request))
        return None if known is None else _answer(known)

    async def remember(
        self, request: RequestKey, answer: StoredAnswer, *, now: datetime | None = None
    ) -> StoredAnswer:
        at = now or self._clock.now()

        def work(db: sqlite3.Connection) -> StoredAnswer:
            known = _recall(db, request)
            if known is not None:
                return _answer(known)
            _store_answer(db, request, answer, None, at)
            return answer

        return await self._database.write(work)

    async def get(self, job_id: int) -> Job | None:
        return (await self.get_many([job_id])).get(job_id)

    async def get_many(self, job_ids: Sequence[int]) -> dict[int, Job]:
        def work(db: sqlite3.Connection) -> dict[int, Job]:
            rows = _rows(db, "jobs_by_ids", {"ids": json.dumps(list(job_ids))})
            return {row["id"]: job_of(row) for row in rows}

        return await self._database.read(work)

    async def tasks(self, job_ids: Sequence[int]) -> dict[int, Task]:
        ids = (json.dumps(list(job_ids)),)
        rows = await self._database.read(lambda db: fetch_array(db, _SQL["tasks"], ids))
        return {row[0]: task_of(row) for row in rows}

    async def versions(self, job_ids: Sequence[int]) -> dict[int, int]:
        ids = (json.dumps(list(job_ids)),)
        return dict(await self._database.read(lambda db: fetch_array(db, _SQL["versions"], ids)))

    async def find(self, team: str, name: str) -> Job | None:
        row = await self._database.read(
            lambda db: _fetch(db, "job_by_name", {"team": team, "name": name})
        )
        return None if row is None else job_of(row)

    async def browse(
        self, team: str, which: JobFilter, *, after: int = 0, limit: int = 100
    ) -> list[Job]:
        values = {
            "team": team,
            "after": after,
            "limit": limit,
            "state": which.state,
            "name": which.name,
            "source": which.source,
            "queue": which.queue,
            "owner": which.owner,
        }
        return await self._database.read(
            lambda db: [job_of(row) for row in _rows(db, "list_jobs", values)]
        )

    async def replace(self, job: Job, *, expected_version: int) -> Job | NameConflict | None:
        values = changed_values(job) | {"expected_version": expected_version}

        def work(db: sqlite3.Connection) -> Job | NameConflict | None:
            try:
                row = _fetch(db, "replace_job", values)
                if row is not None:
                    _set_timer(db, row["id"], values["next_run_at"], job.schedule_version)
            except sqlite3.IntegrityError:
                other = _fetch(db, "job_by_name", {"team": job.team, "name": job.spec.name})
                if other is None:
                    raise
                return NameConflict(other["id"])
            return None if row is None else job_of(row)

        return await self._database.write(work)

    async def due(self, before: datetime, *, limit: int) -> list[DueGroup]:
        bounds = {"before": micros(before), "limit": limit}
        rows = await self._database.read(lambda db: db.execute(_SQL["due_jobs"], bounds).fetchall())
        return [DueGroup._make((*row[:11], *map(json.loads, row[11:]))) for row in rows]

    async def advance(self, moves: Sequence[Move], *, term: int) -> int:
        def work(db: sqlite3.Connection) -> int:
            # The write lock is held, so no newer term can begin before this commits.
            if _current_term(db) != term:
                return 0
            return sum(_advance(db, move) for move in moves)

        return await self._database.write(work)

    async def take_over(self, leader: str, *, now: datetime | None = None) -> int:
        values = {"leader": leader, "now": micros(now or self._clock.now())}
        (term,) = await self._database.write(
            lambda db: db.execute(_SQL["begin_term"], values).fetchone()
        )
        return int(term)

    async def current_term(self) -> int:
        return await self._database.read(_current_term)

    async def counts(self) -> dict[JobState, int]:
        rows = await self._database.read(lambda db: db.execute(_SQL["count_jobs"]).fetchall())
        return {JobState(state): number for state, number in rows}

    async def forget_answers(self, before: datetime, *, limit: int = 1000) -> int:
        bounds = {"before": micros(before), "limit": limit}
        return await self._database.write(
            lambda db: db.execute(_SQL["forget_answers"], bounds).rowcount
        )

    async def close(self) -> None:
        await self._database.close()


def _rows(db: sqlite3.Connection, query: str, values: Mapping[str, Any]) -> list[sqlite3.Row]:
    cursor = db.cursor()
    cursor.row_factory = sqlite3.Row
    return cursor.execute(_SQL[query], values).fetchall()


def _fetch(db: sqlite3.Connection, query: str, values: Mapping[str, Any]) -> Any:
    return next(iter(_rows(db, query, values)), None)


def _current_term(db: sqlite3.Connection) -> int:
    (term,) = db.execute(_SQL["current_term"]).fetchone()
    return int(term)


def _advance(db: sqlite3.Connection, move: Move) -> int:
    values: dict[str, Any] = {"schedule_version": move.schedule_version}
    if move.next_slot_us is None:
        values["ids"] = json.dumps(move.job_ids)
        db.execute(_SQL["end_jobs"], values)
        return db.execute(_SQL["end_timers"], values).rowcount
    offset_us = move.offsets_us[0]
    if all(each == offset_us for each in move.offsets_us):
        values |= {"ids": json.dumps(move.job_ids), "next_run_at": move.next_slot_us + offset_us}
        return db.execute(_SQL["advance_timers"], values).rowcount
    pairs = zip(move.job_ids, (move.next_slot_us + each for each in move.offsets_us), strict=True)
    values["pairs"] = json.dumps(list(pairs))
    return db.execute(_SQL["advance_jittered_timers"], values).rowcount


def _add(db: sqlite3.Connection, new: Sequence[NewJob], at: datetime) -> list[Added]:
    """Add all whose names are free, by ids counted here: nothing has to be read back.

    The write lock is held: a name that is free stays so, and nobody else takes an id.
    """
    there = _namesakes(db, new)
    (last,) = db.execute(_SQL["last_id"]).fetchone()
    at_us = micros(at)
    outcomes: list[Added] = []
    rows: list[dict[str, Any]] = []
    for each in new:
        name = each.team, each.spec.name
        known = there.get(name)
        if known is not None:
            outcomes.append(Added(known, created=False))
            continue
        job = added_job(last + len(rows) + 1, each, at)
        rows.append({"id": job.id, "now": at_us, **new_values(each)})
        outcomes.append(Added(job, created=True))
        if each.spec.name is not None:
            there[name] = job
    db.executemany(_SQL["add_jobs"], rows)
    timers = (
        {"job_id": row["id"], "next_run_at": row["next_run_at"], "schedule_version": 1}
        for row in rows
        if row["next_run_at"] is not None
    )
    db.executemany(_SQL["set_timer"], timers)
    return outcomes


def _namesakes(db: sqlite3.Connection, new: Sequence[NewJob]) -> dict[tuple[str, str | None], Job]:
    """The jobs that have names of the new ones already, by team and name."""
    found: dict[tuple[str, str | None], Job] = {}
    for team in {each.team for each in new}:
        names = [each.spec.name for each in new if each.team == team and each.spec.name is not None]
        if names:
            rows = _rows(db, "jobs_by_names", {"team": team, "names": json.dumps(names)})
            found |= {(team, row["name"]): job_of(row) for row in rows}
    return found


def _set_timer(
    db: sqlite3.Connection, job_id: int, next_run_at: int | None, schedule_version: int
) -> None:
    """An active job has a timer, any other has none."""
    values = {
        "job_id": job_id,
        "next_run_at": next_run_at,
        "schedule_version": schedule_version,
    }
    db.execute(_SQL["clear_timer" if next_run_at is None else "set_timer"], values)


def _recall(db: sqlite3.Connection, request: RequestKey) -> Any:
    known = _fetch(db, "answer", {"team": request.team, "route": request.route, "key": request.key})
    if known is not None and known["fingerprint"] != request.fingerprint:
        raise KeyReused
    return known


def _answer(row: Any) -> StoredAnswer:
    return StoredAnswer(row["status"], row["body"], row["location"])


def _store_answer(
    db: sqlite3.Connection,
    request: RequestKey,
    answer: StoredAnswer,
    job_id: int | None,
    at: datetime,
) -> None:
    values = {
        "team": request.team,
        "route": request.route,
        "key": request.key,
        "fingerprint": request.fingerprint,
        "status": answer.status,
        "body": answer.body,
        "location": answer.location,
        "job_id": job_id,
        "now": micros(at),
    }
    db.execute(_SQL["store_answer"], values)
