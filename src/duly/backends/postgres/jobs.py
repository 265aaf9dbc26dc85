"""The jobs database on PostgreSQL. See `duly.store.JobStore` for what each verb promises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import asyncpg

from duly.backends.job_rows import added_job, changed_values, job_of, new_values, task_of
from duly.backends.postgres.database import Database, Record, Session, listed, load_queries
from duly.backends.postgres.floor import LOWEST, Floor
from duly.clock import Clock, instant, micros
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

_SQL = load_queries("jobs.sql")

# Moves of fewer jobs than this go together, whatever their next times.
_MANY = 100

_Answer = Callable[[Job], StoredAnswer]


class PostgresJobStore:
    """`JobStore` in one database, by its clock.

    Args:
        clock: only tests bring one, in place of the database's.
        local: this machine's, for the time between looks at the front of the index.
    """

    def __init__(
        self, database: Database, clock: Clock | None = None, *, local: Clock | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._floor = Floor(local)
        self._latest_us = LOWEST

    async def now(self) -> datetime:
        if self._clock is not None:
            return self._clock.now()
        (row,) = await self._database.fetch(_SQL["now"])
        self._latest_us = row[0]
        return instant(row[0])

    async def add(
        self,
        new: NewJob,
        *,
        request: RequestKey | None = None,
        answer: _Answer | None = None,
        now: datetime | None = None,
    ) -> Added:
        at = now or await self.now()
        async with self._database.transaction() as session:
            if request is not None:
                known = await _hold(session, request)
                if known is not None and known["job_id"] is not None:
                    rows = await session.fetch(_SQL["jobs_by_ids"], ids=[known["job_id"]])
                    return Added(job_of(rows[0]), created=False)
            (added,) = await _add(session, [new], at)
            if added.created and request is not None and answer is not None:
                await _store_answer(session, request, answer(added.job), added.job.id, at)
            return added

    async def add_many(self, new: Sequence[NewJob], *, now: datetime | None = None) -> list[Added]:
        at = now or await self.now()
        async with self._database.transaction() as session:
            return await _add(session, new, at)

    async def recall(self, request: RequestKey) -> StoredAnswer | None:
        known = await self._database.row(
            _SQL["answer"], team=request.team, route=request.route, key=request.key
        )
        return None if known is None else _answer(_same(known, request))

    async def remember(
        self, request: RequestKey, answer: StoredAnswer, *, now: datetime | None = None
    ) -> StoredAnswer:
        at = now or await self.now()
        async with self._database.transaction() as session:
            known = await _hold(session, request)
            if known is not None:
                return _answer(known)
            await _store_answer(session, request, answer, None, at)
            return answer

    async def get(self, job_id: int) -> Job | None:
        return (await self.get_many([job_id])).get(job_id)

    async def get_many(self, job_ids: Sequence[int]) -> dict[int, Job]:
        rows = await self._database.fetch(_SQL["jobs_by_ids"], ids=job_ids)
        return {row["id"]: job_of(row) for row in rows}

    async def tasks(self, job_ids: Sequence[int]) -> dict[int, Task]:
        rows = await self._database.fetch(_SQL["tasks"], ids=job_ids)
        return {row[0]: task_of(row) for row in rows}

    async def versions(self, job_ids: Sequence[int]) -> dict[int, int]:
        rows = await self._database.fetch(_SQL["versions"], ids=job_ids)
        return {row[0]: row[1] for row in rows}

    async def find(self, team: str, name: str) -> Job | None:
        rows = await self._database.fetch(_SQL["jobs_by_names"], team=team, names=[name])
        return job_of(rows[0]) if rows else None

    async def browse(
        self, team: str, which: JobFilter, *, after: int = 0, limit: int = 100
    ) -> list[Job]:
        rows = await self._database.fetch(
            _SQL["list_jobs"],
            team=team,
            after=after,
            limit=limit,
            state=which.state,
            name=which.name,
            source=which.source,
            queue=which.queue,
            owner=which.owner,
        )
        return [job_of(row) for row in rows]

    async def replace(self, job: Job, *, expected_version: int) -> Job | NameConflict | None:
        values = changed_values(job) | {"expected_version": expected_version}
        try:
            async with self._database.transaction() as session:
                row = await session.row(_SQL["replace_job"], **values)
                if row is not None:
                    query = "clear_timer" if job.next_run_at is None else "set_timer"
                    await session.execute(
                        _SQL[query],
                        job_id=job.id,
                        next_run_at=values["next_run_at"],
                        schedule_version=job.schedule_version,
                    )
        except asyncpg.UniqueViolationError:
            other = None if job.spec.name is None else await self.find(job.team, job.spec.name)
            if other is None:
                raise
            return NameConflict(other.id)
        return None if row is None else job_of(row)

    async def due(self, before: datetime, *, limit: int) -> list[DueGroup]:
        rows = await self._database.fetch(
            _SQL["due_jobs"], floor=self._floor.begin(), before=micros(before), limit=limit
        )
        self._floor.found(rows[0]["earliest"] if rows else None, now=self._latest_us)
        return [DueGroup._make(row[:13]) for row in rows]

    async def advance(self, moves: Sequence[Move], *, term: int) -> int:
        async with self._database.transaction() as session:
            moved = 0
            various: list[Move] = []
            over: list[Move] = []
            for move in moves:
                if move.next_slot_us is None:
                    over.append(move)
                elif len(move.job_ids) < _MANY or any(move.offsets_us):
                    various.append(move)
                else:
                    moved += await session.execute(
                        _SQL["advance_timers"],
                        term=term,
                        next_run_at=move.next_slot_us,
                        version=move.schedule_version,
                        job_ids=listed(move.job_ids),
                    )
            if various:
                values = {"next_run_ats": listed(_next_times(various)), **_jobs_of(various)}
                moved += await session.execute(_SQL["advance_various_timers"], term=term, **values)
            if over:
                moved += await session.execute(_SQL["end_timers"], term=term, **_jobs_of(over))
            return moved

    async def take_over(self, leader: str, *, now: datetime | None = None) -> int:
        at = now or await self.now()
        row = await self._database.row(_SQL["begin_term"], leader=leader, now=micros(at))
        assert row is not None
        return int(row[0])

    async def current_term(self) -> int:
        row = await self._database.row(_SQL["current_term"])
        return 0 if row is None else int(row[0])

    async def counts(self) -> dict[JobState, int]:
        rows = await self._database.fetch(_SQL["count_jobs"])
        return {JobState(row[0]): row[1] for row in rows}

    async def forget_answers(self, before: datetime, *, limit: int = 1000) -> int:
        return await self._database.execute(
            _SQL["forget_answers"], before=micros(before), limit=limit
        )

    async def close(self) -> None:
        await self._database.close()


def _jobs_of(moves: Sequence[Move]) -> dict[str, str | None]:
    return {
        "job_ids": listed(job_id for move in moves for job_id in move.job_ids),
        "versions": listed(move.schedule_version for move in moves for _ in move.job_ids),
    }


def _next_times(moves: Sequence[Move]) -> Iterable[int]:
    for move in moves:
        assert move.next_slot_us is not None
        yield from map(move.next_slot_us.__add__, move.offsets_us)


async def _add(session: Session, new: Sequence[NewJob], at: datetime) -> list[Added]:
    """Add all in one statement, by ids taken beforehand: those that come back were added."""
    if not new:
        return []
    ids = [row[0] for row in await session.fetch(_SQL["take_ids"], amount=len(new))]
    rows = [new_values(each) for each in new]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    rows_added = await session.fetch(_SQL["add_jobs"], id=ids, now=micros(at), **columns)
    added = {row[0] for row in rows_added}
    there: dict[tuple[str, str | None], Job] = {}
    for team in {each.team for job_id, each in zip(ids, new, strict=True) if job_id not in added}:
        names = [each.spec.name for each in new if each.team == team]
        found = await session.fetch(_SQL["jobs_by_names"], team=team, names=names)
        there |= {(team, row["name"]): job_of(row) for row in found}
    return [
        Added(added_job(job_id, each, at), created=True)
        if job_id in added
        else Added(there[each.team, each.spec.name], created=False)
        for job_id, each in zip(ids, new, strict=True)
    ]


async def _hold(session: Session, request: RequestKey) -> Record | None:
    """The key's answer, if any; until the transaction ends, no other can store one."""
    await session.fetch(_SQL["hold_key"], key=f"{request.team}\n{request.route}\n{request.key}")
    known = await session.row(
        _SQL["answer"], team=request.team, route=request.route, key=request.key
    )
    return None if known is None else _same(known, request)


def _same(known: Record, request: RequestKey) -> Record:
    if known["fingerprint"] != request.fingerprint:
        raise KeyReused
    return known


def _answer(row: Record) -> StoredAnswer:
    return StoredAnswer(row["status"], row["body"], row["location"])


async def _store_answer(
    session: Session,
    request: RequestKey,
    answer: StoredAnswer,
    job_id: int | None,
    at: datetime,
) -> None:
    await session.execute(
        _SQL["store_answer"],
        team=request.team,
        route=request.route,
        key=request.key,
        fingerprint=request.fingerprint,
        status=answer.status,
        body=answer.body,
        location=answer.location,
        job_id=job_id,
        now=micros(at),
    )
