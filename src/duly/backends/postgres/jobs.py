"""The jobs database on PostgreSQL. See `duly.store.JobStore` for what each verb promises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import asyncpg

from duly.backends.job_rows import added_job, changed_values, job_of, new_values, task_of
from duly.backends.postgres.database import Database, Record, Session, listed, load_queries
from duly.backends.postgres.floor import LOWEST, Floor
from duly.clock import Clock, instant, micros
from duly.errors import KeyReused, StoreUnavailable
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
# How often jobs are added again after another call had the same names.
_ADDS = 5

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
            added = await _add(session, new, at)
            if added.created and request is not None and answer is not None:
                await _store_answer(session, request, answer(added.job), added.job.id, at)
            return added

    async def add_many(self, new: Sequence[NewJob], *, now: datetime | None = None) -> list[Added]:
        at = now or await self.now()
        for _ in range(_ADDS):
            try:
                async with self._database.transaction() as session:
                    return await _add_many(session, new, at)
            except asyncpg.UniqueViolationError:
                # Another call added one of these names meanwhile; now it is found.
                continue
        raise StoreUnavailable("other registrations of the same names were in the way; repeat it")

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


async def _add(session: Session, new: NewJob, at: datetime) -> Added:
    row = await session.row(_SQL["add_job"], now=micros(at), **new_values(new))
    if row is not None:
        return Added(added_job(row[0], new, at), created=True)
    names = {"team": new.team, "names": [new.spec.name]}
    (known,) = await session.fetch(_SQL["jobs_by_names"], **names)
    return Added(job_of(known), created=False)


async def _add_many(session: Session, new: Sequence[NewJob], at: datetime) -> list[Added]:
    """Add all whose names are free, by ids taken beforehand.

    Raises asyncpg.UniqueViolationError where another call takes such a name meanwhile. The rows go
    in by name: of two calls with the same names, neither then waits for one that the other has
    while it holds one that the other waits for.
    """
    there: dict[tuple[str, str | None], Job] = {}
    for team in {each.team for each in new}:
        names = [each.spec.name for each in new if each.team == team and each.spec.name is not None]
        found = await session.fetch(_SQL["jobs_by_names"], team=team, names=names)
        there |= {(team, row["name"]): job_of(row) for row in found}
    ids = iter(await session.fetch(_SQL["take_ids"], amount=len(new)))
    outcomes: list[Added] = []
    rows: list[dict[str, Any]] = []
    at_us = micros(at)
    versions = {"schedule_version": 1, "version": 1}
    versions |= {"created_at": at_us, "updated_at": at_us, "changed_at": at_us}
    for each in new:
        name = each.team, each.spec.name
        known = there.get(name)
        if known is not None:
            outcomes.append(Added(known, created=False))
            continue
        job = added_job(next(ids)[0], each, at)
        rows.append({"id": job.id, **new_values(each), **versions})
        outcomes.append(Added(job, created=True))
        if each.spec.name is not None:
            there[name] = job
    rows.sort(key=lambda row: (row["team"], row["name"] or ""))
    timers = [
        {"job_id": row["id"], "next_run_at": next_run_at, "schedule_version": 1}
        for row in rows
        if (next_run_at := row.pop("next_run_at")) is not None
    ]
    if rows:
        await session.copy("jobs", rows)
    if timers:
        await session.copy("timers", timers)
    return outcomes


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
