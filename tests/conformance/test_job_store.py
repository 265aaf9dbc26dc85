"""What every JobStore keeps. See duly.store for the promises in prose."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

import pytest

from duly.clock import ManualClock, micros
from duly.encoding import decode_missed
from duly.errors import KeyReused
from duly.job import Command, Job, JobSpec, JobState, Missed, MissedPolicy, Overlap, Retry
from duly.schedule import Gap, Repeat
from duly.store import (
    JobFilter,
    JobStore,
    Move,
    NameConflict,
    NewJob,
    RequestKey,
    StoredAnswer,
)

pytestmark = pytest.mark.anyio

DUE = datetime(2026, 10, 25, 2, tzinfo=UTC)
EVERY_FIELD = JobSpec(
    schedule="daily 02:00",
    command=Command(shell="echo hi", cwd="/tmp", env=(("A", "b"),), stdin="x", user="root"),  # noqa: S108
    timezone="Europe/Berlin",
    name="report",
    description="the nightly one",
    starts_at=DUE,
    ends_at=DUE + timedelta(days=9),
    input='{"a":1}',
    jitter=timedelta(minutes=5),
    overlap=Overlap.ALLOW,
    missed=Missed(MissedPolicy.CATCH_UP, timedelta(seconds=5), timedelta(hours=2)),
    retry=Retry(2, timedelta(seconds=3), timedelta(seconds=9), safe=False),
    timeout=timedelta(minutes=3),
    queue="reports",
    priority=2,
    owner="ops@example.com",
    alert="none",
    source="crontab:/etc/crontab",
)


def new(name: str | None = None, *, due: datetime = DUE, **changes: Any) -> NewJob:
    spec = JobSpec(schedule="daily 02:00", command=Command(name="report"), name=name)
    return NewJob("ops", replace(spec, **changes), timedelta(0), due)


def key(fingerprint: str = "f", route: str = "POST /jobs") -> RequestKey:
    return RequestKey("ops", route, "k", fingerprint)


def answer(job: Job) -> StoredAnswer:
    return StoredAnswer(201, f'{{"id":"{job.ref}"}}', f"/jobs/{job.ref}")


async def test_a_job_comes_back_as_it_was_added(jobs: JobStore, clock: ManualClock) -> None:
    added = await jobs.add(NewJob("ops", EVERY_FIELD, timedelta(seconds=7), DUE))
    expected = Job(
        id=added.job.id,
        team="ops",
        spec=EVERY_FIELD,
        state=JobState.ACTIVE,
        jitter_offset=timedelta(seconds=7),
        next_run_at=DUE,
        schedule_version=1,
        version=1,
        created_at=clock.now(),
        updated_at=clock.now(),
        changed_at=clock.now(),
    )
    assert added.created
    assert added.job == expected
    assert await jobs.get(added.job.id) == expected


async def test_of_concurrent_adds_under_one_name_one_creates(jobs: JobStore) -> None:
    added = await asyncio.gather(*(jobs.add(new("one")) for _ in range(20)))
    assert sum(each.created for each in added) == 1
    assert len({each.job.id for each in added}) == 1


async def test_many_with_the_same_names_in_any_order_are_added_once(jobs: JobStore) -> None:
    """Two imports of the same names, one the other way round: neither waits for ever."""
    for part in range(8):
        named = [new(f"{part}-{number}") for number in range(1000)]
        both = [named, named[::-1], named, named[::-1]]
        added = await asyncio.gather(*(jobs.add_many(each) for each in both))
        assert sum(each.created for one in added for each in one) == 1000
        assert [each.job.spec.name for each in added[1]] == [each.spec.name for each in both[1]]


async def test_jobs_without_a_name_are_all_added(jobs: JobStore) -> None:
    added = await jobs.add_many([new(), new(), new()])
    assert [each.created for each in added] == [True, True, True]
    assert len({each.job.id for each in added}) == 3


async def test_two_teams_may_use_the_same_name(jobs: JobStore) -> None:
    first = await jobs.add(new("one"))
    second = await jobs.add(replace(new("one"), team="other"))
    assert second.created
    assert first.job.id != second.job.id


async def test_job_and_answer_are_stored_together(jobs: JobStore) -> None:
    added = await jobs.add(new("one"), request=key(), answer=answer)
    assert await jobs.recall(key()) == answer(added.job)


async def test_a_key_seen_before_gives_the_job_it_made(jobs: JobStore) -> None:
    first = await jobs.add(new(), request=key(), answer=answer)
    again = await jobs.add(new(), request=key(), answer=answer)
    assert (again.created, again.job.id) == (False, first.job.id)


async def test_a_key_with_another_body_is_refused_and_adds_nothing(jobs: JobStore) -> None:
    await jobs.add(new(), request=key(), answer=answer)
    with pytest.raises(KeyReused):
        await jobs.add(new(), request=key("another"), answer=answer)
    with pytest.raises(KeyReused):
        await jobs.recall(key("another"))
    assert len(await jobs.browse("ops", JobFilter())) == 1


async def test_a_key_has_its_own_space_in_each_route(jobs: JobStore) -> None:
    await jobs.add(new(), request=key(), answer=answer)
    assert await jobs.recall(key("other", route="POST /jobs/j1/run")) is None


async def test_remember_keeps_the_first_answer(jobs: JobStore) -> None:
    first = await jobs.remember(key(), StoredAnswer(202, "a"))
    second = await jobs.remember(key(), StoredAnswer(202, "b"))
    assert (first, second) == (StoredAnswer(202, "a"), StoredAnswer(202, "a"))


async def test_answers_are_forgotten_by_age(jobs: JobStore, clock: ManualClock) -> None:
    await jobs.remember(key(), StoredAnswer(202, "a"))
    assert await jobs.forget_answers(clock.now()) == 0
    assert await jobs.forget_answers(clock.now() + timedelta(seconds=1)) == 1
    assert await jobs.recall(key()) is None


async def test_due_gives_what_falls_due_by_the_bound_earliest_first(jobs: JobStore) -> None:
    late, early, later = await jobs.add_many(
        [new(due=DUE), new(due=DUE - timedelta(hours=1)), new(due=DUE + timedelta(microseconds=1))]
    )
    found = await jobs.due(DUE, limit=10)
    assert [group.job_ids for group in found] == [[early.job.id], [late.job.id]]
    assert [group.job_ids for group in await jobs.due(DUE, limit=1)] == [[early.job.id]]
    assert later.job.id not in chain.from_iterable(group.job_ids for group in found)


async def test_due_groups_jobs_of_one_slot_and_tells_their_offsets(jobs: JobStore) -> None:
    spec = EVERY_FIELD
    one, two = await jobs.add_many(
        [
            NewJob("ops", replace(spec, name=f"job-{offset}"), timedelta(seconds=offset), due)
            for offset, due in ((0, DUE), (7, DUE + timedelta(seconds=7)))
        ]
    )
    (found,) = await jobs.due(DUE + timedelta(minutes=1), limit=10)
    assert (found.slot_us, found.exclusive) == (micros(DUE), False)
    offsets = dict(zip(found.job_ids, found.offsets_us, strict=True))
    assert offsets == {one.job.id: 0, two.job.id: 7_000_000}


@pytest.mark.parametrize(
    "change",
    [
        {"schedule": "daily 02:01"},
        {"timezone": "UTC"},
        {"gap": Gap.SKIP},
        {"repeat": Repeat.BOTH},
        {"ends_at": None},
        {"missed": Missed(MissedPolicy.SKIP)},
        {"queue": "other"},
        {"priority": 3},
        {"overlap": Overlap.SKIP},
    ],
)
async def test_due_keeps_apart_what_is_decided_apart(
    jobs: JobStore, change: dict[str, Any]
) -> None:
    spec = replace(EVERY_FIELD, name="other", **change)
    await jobs.add_many(
        [NewJob("ops", EVERY_FIELD, timedelta(0), DUE), NewJob("ops", spec, timedelta(0), DUE)]
    )
    assert [len(group.job_ids) for group in await jobs.due(DUE, limit=10)] == [1, 1]


async def test_due_carries_what_planning_needs(jobs: JobStore) -> None:
    added = await jobs.add(NewJob("ops", EVERY_FIELD, timedelta(seconds=7), DUE))
    (found,) = await jobs.due(DUE, limit=10)
    assert decode_missed(found.missed) == EVERY_FIELD.missed
    assert tuple(found._replace(missed="")) == (
        micros(DUE) - 7_000_000,
        "daily 02:00",
        "Europe/Berlin",
        "after",
        "first",
        micros(DUE + timedelta(days=9)),
        "",
        1,
        "reports",
        2,
        False,
        [added.job.id],
        [7_000_000],
    )


async def test_tasks_are_what_a_worker_needs(jobs: JobStore, clock: ManualClock) -> None:
    added = await jobs.add(NewJob("ops", EVERY_FIELD, timedelta(0), DUE))
    other = await jobs.add(new("deleted"))
    gone = replace(other.job, state=JobState.DELETED, next_run_at=None)
    await jobs.replace(gone, expected_version=1)
    found = await jobs.tasks([added.job.id, other.job.id, 99])
    assert found.keys() == {added.job.id, other.job.id}
    spec = EVERY_FIELD
    assert found[added.job.id] == (
        added.job.id,
        1,
        JobState.ACTIVE,
        1,
        clock.now_us(),
        spec.command,
        spec.input,
        spec.timeout,
        spec.retry,
    )
    assert found[other.job.id][1:3] == (2, JobState.DELETED)


async def test_advance_moves_a_job_on(jobs: JobStore) -> None:
    term = await jobs.take_over("me")
    added = await jobs.add(new())
    moved = await jobs.advance(
        [Move(micros(DUE + timedelta(days=1)), 1, [added.job.id], [0])], term=term
    )
    job = await jobs.get(added.job.id)
    assert moved == 1
    assert job is not None
    assert job.next_run_at == DUE + timedelta(days=1)
    assert job.version == 1, "planning is no edit"


@pytest.mark.parametrize("count", [2, 200])
@pytest.mark.parametrize("jitter_us", [0, 1_000_000])
async def test_advance_adds_each_jobs_own_jitter(
    jobs: JobStore, count: int, jitter_us: int
) -> None:
    term = await jobs.take_over("me")
    added = [each.job.id for each in await jobs.add_many([new()] * count)]
    tomorrow = DUE + timedelta(days=1)
    move = Move(micros(tomorrow), 1, added, [n * jitter_us for n in range(count)])
    assert await jobs.advance([move], term=term) == count
    known = await jobs.get_many(added)
    assert [known[job_id].next_run_at for job_id in added] == [
        tomorrow + timedelta(microseconds=n * jitter_us) for n in range(count)
    ]


@pytest.mark.parametrize("count", [2, 200])
async def test_advance_leaves_out_of_many_those_that_were_edited(
    jobs: JobStore, count: int
) -> None:
    old = await jobs.take_over("other")
    term = await jobs.take_over("me")
    first, *others = [each.job for each in await jobs.add_many([new()] * count)]
    edited = replace(first, schedule_version=2, next_run_at=DUE + timedelta(hours=5))
    await jobs.replace(edited, expected_version=1)
    ids = [first.id, *(job.id for job in others)]
    move = Move(micros(DUE + timedelta(days=1)), 1, ids, [0] * count)
    assert await jobs.advance([move], term=old) == 0
    assert await jobs.advance([move], term=term) == count - 1
    job = await jobs.get(first.id)
    assert job is not None
    assert job.next_run_at == DUE + timedelta(hours=5)


async def test_advance_without_a_next_time_ends_the_job(jobs: JobStore) -> None:
    term = await jobs.take_over("me")
    added = await jobs.add(new())
    await jobs.advance([Move(None, 1, [added.job.id], [0])], term=term)
    job = await jobs.get(added.job.id)
    assert job is not None
    assert (job.state, job.next_run_at) == (JobState.ENDED, None)


async def test_advance_leaves_a_job_whose_schedule_was_edited(jobs: JobStore) -> None:
    term = await jobs.take_over("me")
    added = await jobs.add(new())
    edited = replace(added.job, schedule_version=2, next_run_at=DUE + timedelta(hours=5))
    await jobs.replace(edited, expected_version=1)
    assert (
        await jobs.advance(
            [Move(micros(DUE + timedelta(days=1)), 1, [added.job.id], [0])], term=term
        )
        == 0
    )
    job = await jobs.get(added.job.id)
    assert job is not None
    assert job.next_run_at == DUE + timedelta(hours=5)


async def test_an_older_term_moves_nothing(jobs: JobStore) -> None:
    old = await jobs.take_over("me")
    new_term = await jobs.take_over("other")
    added = await jobs.add(new())
    move = Move(micros(DUE + timedelta(days=1)), 1, [added.job.id], [0])
    assert new_term > old
    assert await jobs.current_term() == new_term
    assert await jobs.advance([move], term=old) == 0
    assert await jobs.advance([move], term=new_term) == 1


async def test_replace_needs_the_version_that_was_read(jobs: JobStore) -> None:
    added = await jobs.add(new("one"))
    changed = replace(added.job, spec=replace(added.job.spec, queue="slow"))
    first = await jobs.replace(changed, expected_version=1)
    second = await jobs.replace(changed, expected_version=1)
    assert isinstance(first, Job)
    assert (first.version, first.spec.queue) == (2, "slow")
    assert second is None


async def test_replace_tells_whose_name_it_is(jobs: JobStore) -> None:
    one, two = await jobs.add_many([new("one"), new("two")])
    renamed = replace(two.job, spec=replace(two.job.spec, name="one"))
    assert await jobs.replace(renamed, expected_version=1) == NameConflict(one.job.id)


async def test_a_deleted_job_keeps_its_row_and_frees_its_name(jobs: JobStore) -> None:
    added = await jobs.add(new("one"))
    gone = replace(added.job, state=JobState.DELETED, next_run_at=None, schedule_version=2)
    await jobs.replace(gone, expected_version=1)
    again = await jobs.add(new("one"))
    assert again.created
    assert again.job.id > added.job.id
    assert [job.id for job in await jobs.browse("ops", JobFilter())] == [again.job.id]
    assert await jobs.find("ops", "one") == again.job
    assert (await jobs.get_many([added.job.id, again.job.id])).keys() == {
        added.job.id,
        again.job.id,
    }


async def test_list_filters_and_pages_by_id(jobs: JobStore) -> None:
    added = await jobs.add_many([new(queue="a"), new(queue="b"), new(queue="a"), new(queue="a")])
    ids = [each.job.id for each in added]
    first = await jobs.browse("ops", JobFilter(queue="a"), limit=2)
    rest = await jobs.browse("ops", JobFilter(queue="a"), after=first[-1].id, limit=2)
    assert [job.id for job in first] == [ids[0], ids[2]]
    assert [job.id for job in rest] == [ids[3]]
    assert await jobs.browse("other", JobFilter()) == []


async def test_counts_tell_jobs_by_state(jobs: JobStore) -> None:
    added = await jobs.add_many([new(), new()])
    paused = replace(added[0].job, state=JobState.PAUSED, next_run_at=None)
    await jobs.replace(paused, expected_version=1)
    assert await jobs.counts() == {JobState.ACTIVE: 1, JobState.PAUSED: 1}
