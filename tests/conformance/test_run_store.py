"""What every RunStore keeps. See duly.store for the promises in prose."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from duly.clock import ManualClock, micros
from duly.run import Outcome, Output, RunKey, Status, Try
from duly.store import Claim, RunFilter, RunStore
from tests.conformance.rows import MINUTE, NOW, claim, claim_one, end, info, planned

pytestmark = pytest.mark.anyio


async def test_nothing_is_claimed_before_it_is_due(runs: RunStore, clock: ManualClock) -> None:
    due = NOW + timedelta(microseconds=1)
    await runs.save([planned(slot=due)])
    assert await claim(runs) == Claim([], [], due, NOW)
    clock.move(timedelta(microseconds=1))
    assert [run.key for run in (await claim(runs)).runs] == [RunKey(1, due)]


async def test_claims_go_by_priority_then_by_due_time(runs: RunStore) -> None:
    rows = [
        planned(1, NOW - MINUTE),
        planned(2, NOW - 2 * MINUTE),
        planned(3, NOW, priority=0),
        planned(4, NOW - 3 * MINUTE, priority=9),
    ]
    await runs.save(rows)
    assert [run.job_id for run in (await claim(runs)).runs] == [3, 2, 1, 4]


async def test_a_claim_takes_no_more_than_its_limit_and_only_its_queues(runs: RunStore) -> None:
    await runs.save([planned(n) for n in range(1, 6)] + [planned(9, queue="slow")])
    assert len((await claim(runs, limit=3)).runs) == 3
    assert len((await claim(runs, limit=0)).runs) == 0
    assert len((await claim(runs, limit=10)).runs) == 2
    assert [run.job_id for run in (await runs.claim("w", ["slow"], limit=5)).runs] == [9]


async def test_concurrent_claims_never_share_a_run(runs: RunStore) -> None:
    await runs.save([planned(n) for n in range(1, 101)])
    claims = await asyncio.gather(*(claim(runs, f"w{n}") for n in range(12)))
    taken = [run.key for each in claims for run in each.runs]
    assert len(taken) == len(set(taken)) == 100


async def test_tokens_only_rise(runs: RunStore, clock: ManualClock) -> None:
    await runs.save([planned(1), planned(2)])
    first = (await claim(runs)).runs
    await runs.settle([end(first[0], Status.QUEUED, Outcome.FAILED, due_us=micros(NOW))])
    again = await claim_one(runs)
    assert first[0].token < first[1].token < again.token
    assert (again.key, again.attempt) == (first[0].key, 2)


async def test_a_claim_tells_when_the_next_run_is_due(runs: RunStore) -> None:
    await runs.save([planned(1), planned(2, NOW + MINUTE), planned(3, NOW + 2 * MINUTE)])
    assert (await claim(runs)).next_due == NOW + MINUTE


async def test_an_exclusive_run_is_skipped_while_another_of_its_job_runs(
    runs: RunStore, clock: ManualClock
) -> None:
    await runs.save([planned(slot=NOW), planned(slot=NOW + MINUTE)])
    await claim_one(runs)
    clock.move(MINUTE)
    taken = await claim(runs)
    assert (taken.runs, taken.skipped) == ([], [RunKey(1, NOW + MINUTE)])
    run = await runs.get(RunKey(1, NOW + MINUTE))
    assert run is not None
    assert run.status is Status.SKIPPED
    assert run.reason == "overlap: j1.20261024T020000Z was still running"


async def test_of_two_due_runs_of_one_exclusive_job_one_starts(runs: RunStore) -> None:
    await runs.save([planned(slot=NOW), planned(slot=NOW - MINUTE)])
    taken = await claim(runs)
    assert [run.key for run in taken.runs] == [RunKey(1, NOW - MINUTE)]
    assert taken.skipped == [RunKey(1, NOW)]


async def test_a_run_that_waits_for_its_retry_is_in_the_way(
    runs: RunStore, clock: ManualClock
) -> None:
    await runs.save([planned(slot=NOW), planned(slot=NOW + MINUTE)])
    run = await claim_one(runs)
    await runs.settle([end(run, Status.QUEUED, Outcome.FAILED, due_us=micros(NOW + 5 * MINUTE))])
    clock.move(MINUTE)
    skipped = (await claim(runs)).skipped
    clock.move(4 * MINUTE)
    assert skipped == [RunKey(1, NOW + MINUTE)]
    assert (await claim_one(runs)).attempt == 2


async def test_a_dead_run_is_no_longer_in_the_way(runs: RunStore, clock: ManualClock) -> None:
    await runs.save([planned(slot=NOW), planned(slot=NOW + MINUTE)])
    run = await claim_one(runs)
    await runs.settle([end(run, Status.DEAD, Outcome.LOST)])
    clock.move(MINUTE)
    assert (await claim_one(runs)).key == RunKey(1, NOW + MINUTE)


async def test_runs_that_may_overlap_run_side_by_side(runs: RunStore) -> None:
    rows = [planned(slot=NOW, exclusive=False), planned(slot=NOW - MINUTE, exclusive=False)]
    await runs.save(rows)
    assert len((await claim(runs)).runs) == 2


async def test_a_success_ends_the_run(runs: RunStore) -> None:
    await runs.save([planned()])
    claimed = await claim_one(runs)
    done = end(claimed, Status.SUCCEEDED, Outcome.SUCCEEDED, exit_code=0, output=Output(b"hi\n"))
    assert await runs.settle([done]) == [True]
    run = await runs.get(claimed.key)
    assert run is not None
    assert (run.status, run.attempts, run.worker) == (Status.SUCCEEDED, 1, "w1")
    assert (run.exit_code, run.started_at, run.finished_at) == (0, NOW, NOW + MINUTE)
    assert await runs.output(claimed.key) == Output(b"hi\n")
    assert await runs.tries(claimed.key) == []


async def test_a_second_result_of_the_same_claim_is_refused(runs: RunStore) -> None:
    await runs.save([planned()])
    claimed = await claim_one(runs)
    await runs.settle([end(claimed, Status.SUCCEEDED, Outcome.SUCCEEDED)])
    assert await runs.settle([end(claimed, Status.DEAD, Outcome.FAILED)]) == [False]
    run = await runs.get(claimed.key)
    assert run is not None
    assert run.status is Status.SUCCEEDED


async def test_a_result_under_an_older_token_is_refused_with_its_output(runs: RunStore) -> None:
    await runs.save([planned()])
    lost = await claim_one(runs)
    await runs.settle([end(lost, Status.QUEUED, Outcome.LOST, due_us=micros(NOW))])
    held = await claim_one(runs, "w2")
    late = end(lost, Status.SUCCEEDED, Outcome.SUCCEEDED, output=Output(b"late"))
    assert await runs.settle([late]) == [False]
    run = await runs.get(held.key)
    assert run is not None
    assert (run.status, run.worker) == (Status.RUNNING, "w2")
    assert await runs.output(held.key) is None


async def test_plain_successes_and_others_are_settled_in_one_call(runs: RunStore) -> None:
    """Each under its own token: what is not held changes nothing and harms no other."""
    await runs.save([planned(number) for number in range(1, 6)])
    taken = {run.job_id: run for run in (await claim(runs)).runs}
    lost = taken[5]
    await runs.settle([end(lost, Status.QUEUED, Outcome.LOST, due_us=micros(NOW))])
    held = await claim_one(runs, "w2")
    good = partial(end, status=Status.SUCCEEDED, outcome=Outcome.SUCCEEDED, exit_code=0)
    ends = [
        good(taken[1]),
        end(taken[2], Status.DEAD, Outcome.FAILED, exit_code=1),
        good(lost),
        good(taken[3], output=Output(b"said")),
        good(taken[4]),
        good(taken[1]),
    ]
    assert await runs.settle(ends) == [True, True, False, True, True, False]
    found = [await runs.get(RunKey(number, NOW)) for number in range(1, 6)]
    assert [(run.status, run.exit_code) for run in found if run is not None] == [
        (Status.SUCCEEDED, 0),
        (Status.DEAD, 1),
        (Status.SUCCEEDED, 0),
        (Status.SUCCEEDED, 0),
        (Status.RUNNING, None),
    ]
    assert found[0] is not None
    assert (found[0].started_at, found[0].finished_at) == (NOW, NOW + MINUTE)
    assert await runs.settle([good(held)]) == [True]


async def test_a_failed_try_leaves_a_row_and_waits_for_the_next(
    runs: RunStore, clock: ManualClock
) -> None:
    await runs.save([planned()])
    claimed = await claim_one(runs)
    failed = end(
        claimed,
        Status.QUEUED,
        Outcome.FAILED,
        due_us=micros(NOW + 2 * MINUTE),
        exit_code=3,
        reason="exit code 3",
    )
    await runs.settle([failed])
    expected = Try(1, Outcome.FAILED, "w1", NOW, NOW + MINUTE, 3, None, "exit code 3")
    assert await runs.tries(claimed.key) == [expected]
    assert (await claim(runs)).runs == []
    clock.move(2 * MINUTE)
    assert (await claim_one(runs)).attempt == 2


async def test_a_success_leaves_nothing_of_the_tries_before_it(
    runs: RunStore, clock: ManualClock
) -> None:
    await runs.save([planned()])
    failed = end(
        await claim_one(runs),
        Status.QUEUED,
        Outcome.FAILED,
        due_us=micros(NOW),
        signal=9,
        reason="ended by signal 9",
    )
    await runs.settle([failed])
    again = await claim_one(runs)
    await runs.settle([end(again, Status.SUCCEEDED, Outcome.SUCCEEDED, exit_code=0)])
    run = await runs.get(again.key)
    assert run is not None
    assert (run.status, run.exit_code, run.signal, run.reason) == (Status.SUCCEEDED, 0, None, None)
    assert [each.reason for each in await runs.tries(again.key)] == ["ended by signal 9", None]


async def test_a_try_handed_back_costs_nothing(runs: RunStore) -> None:
    await runs.save([planned()])
    claimed = await claim_one(runs)
    back = end(claimed, Status.QUEUED, Outcome.INTERRUPTED, due_us=micros(NOW), counts=False)
    await runs.settle([back])
    run = await runs.get(claimed.key)
    assert run is not None
    assert (run.status, run.attempts, run.interruptions) == (Status.QUEUED, 0, 1)
    assert (await claim_one(runs)).attempt == 1
    assert [each.outcome for each in await runs.tries(claimed.key)] == [Outcome.INTERRUPTED]


async def test_output_of_each_try_is_kept(runs: RunStore) -> None:
    await runs.save([planned()])
    first = await claim_one(runs)
    failed = end(first, Status.QUEUED, Outcome.FAILED, due_us=micros(NOW), output=Output(b"1"))
    await runs.settle([failed])
    second = await claim_one(runs)
    kept = Output(b"2\x00\xff", b"tail", 7)
    await runs.settle([end(second, Status.SUCCEEDED, Outcome.SUCCEEDED, output=kept)])
    assert await runs.output(first.key) == kept
    assert await runs.output(first.key, attempt=1) == Output(b"1")
    assert await runs.output(first.key, attempt=3) is None


async def test_void_cancels_planned_runs_of_older_versions(runs: RunStore) -> None:
    slots = [NOW, NOW + MINUTE, NOW + 2 * MINUTE]
    await runs.save([planned(slot=slot) for slot in slots])
    await runs.save([planned(slot=NOW + 3 * MINUTE, schedule_version=2)])
    voided = await runs.void(1, after=NOW, version=2, reason="the job's schedule was edited")
    assert sorted(voided) == [RunKey(1, slots[1]), RunKey(1, slots[2])]
    run = await runs.get(RunKey(1, slots[1]))
    assert run is not None
    assert (run.status, run.reason) == (Status.CANCELED, "the job's schedule was edited")


async def test_void_without_a_bound_takes_due_runs_too_but_no_manual_one(runs: RunStore) -> None:
    rows = [planned(slot=NOW), planned(slot=NOW + MINUTE), planned(slot=NOW - MINUTE, manual=True)]
    await runs.save(rows)
    voided = await runs.void(1, after=None, version=2, reason="the job is paused")
    assert sorted(voided) == [RunKey(1, NOW), RunKey(1, NOW + MINUTE)]


async def test_history_is_newest_first_and_pages_stay_put_while_rows_arrive(
    runs: RunStore,
) -> None:
    slots = [NOW + n * MINUTE for n in range(6)]
    await runs.save([planned(slot=slot) for slot in slots[:5]])
    page = await runs.history(RunFilter(job_id=1), limit=2)
    await runs.save([planned(slot=slots[5]), planned(2, slots[3])])
    rest = await runs.history(RunFilter(job_id=1), before=page[-1].key, limit=9)
    assert [run.key.scheduled_for for run in page + rest] == list(reversed(slots[:5]))


async def test_history_over_all_jobs_orders_by_slot_then_job(runs: RunStore) -> None:
    await runs.save([planned(1), planned(2), planned(3, NOW - MINUTE)])
    everything = await runs.history(RunFilter(), limit=2)
    rest = await runs.history(RunFilter(), before=everything[-1].key)
    keys = [run.key for run in everything + rest]
    assert keys == [RunKey(2, NOW), RunKey(1, NOW), RunKey(3, NOW - MINUTE)]


async def test_history_filters_by_status_and_time(runs: RunStore) -> None:
    await runs.save([planned(1), planned(2), planned(3, NOW - MINUTE)])
    (first, *_) = (await claim(runs)).runs
    await runs.settle([end(first, Status.DEAD, Outcome.FAILED)])

    async def found(**which: Any) -> list[int]:
        return [run.key.job_id for run in await runs.history(RunFilter(**which))]

    assert await found(status=Status.DEAD) == [3]
    assert await found(status=Status.RUNNING) == [2, 1]
    assert await found(since=NOW) == [2, 1]
    assert await found(until=NOW - MINUTE) == [3]
    assert await found(job_id=3, status=Status.RUNNING) == []


async def test_runs_of_a_silent_worker_are_lost(runs: RunStore, clock: ManualClock) -> None:
    await runs.save([planned(1), planned(2)])
    await runs.beat(info("w1"))
    await runs.beat(info("w2"))
    (mine,) = (await claim(runs, "w1", limit=1)).runs
    await claim(runs, "w2", limit=1)
    clock.move(timedelta(seconds=100))
    await runs.beat(info("w2"))
    clock.move(timedelta(seconds=30))
    lost = await runs.lost(silent_for=timedelta(minutes=2), limit=10)
    assert [(each.worker, each.run.key, each.run.token) for each in lost] == [
        ("w1", mine.key, mine.token)
    ]


async def test_runs_of_a_worker_without_a_lease_are_lost(runs: RunStore) -> None:
    await runs.save([planned()])
    await runs.beat(info())
    await claim(runs)
    assert await runs.lost(silent_for=timedelta(minutes=2), limit=10) == []
    await runs.end_worker("w1")
    assert len(await runs.lost(silent_for=timedelta(minutes=2), limit=10)) == 1
    assert await runs.workers() == []


async def test_a_worker_is_told_what_it_holds(runs: RunStore) -> None:
    await runs.save([planned(1), planned(2), planned(3)])
    mine = (await claim(runs, "w1", limit=2)).runs
    await claim(runs, "w2", limit=1)
    assert sorted(await runs.held("w1")) == sorted(mine)
    await runs.settle([end(mine[0], Status.SUCCEEDED, Outcome.SUCCEEDED)])
    assert await runs.held("w1") == mine[1:]


async def test_the_backlog_tells_the_longest_waiting_run(
    runs: RunStore, clock: ManualClock
) -> None:
    await runs.save([planned(1), planned(2, NOW + MINUTE), planned(3, NOW + 9 * MINUTE)])
    clock.move(2 * MINUTE)
    backlog = await runs.backlog()
    assert (backlog.claimable, backlog.oldest_due) == (2, NOW)
    assert backlog.counts == {Status.QUEUED: 3, Status.RUNNING: 0, Status.DEAD: 0}
