"""How every RunStore saves what was planned: each slot once, whoever comes twice."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from duly.clock import micros
from duly.run import PlannedSlot, RunKey, Status
from duly.store import RunFilter, RunStore
from tests.conformance.rows import MINUTE, NOW, claim_one, planned

pytestmark = pytest.mark.anyio


async def test_saving_the_same_slot_again_keeps_the_first(runs: RunStore) -> None:
    assert await runs.save([planned(), planned(2)]) == 2
    assert await runs.save([planned(queue="other")]) == 0
    run = await runs.get(RunKey(1, NOW))
    assert run is not None
    assert run.queue == "default"


async def test_concurrent_plans_of_one_slot_save_it_once(runs: RunStore) -> None:
    saved = await asyncio.gather(*(runs.save([planned()]) for _ in range(10)))
    assert sum(saved) == 1


MANY = list(range(1, 201))


@pytest.mark.parametrize("jobs", [MANY[:2], MANY], ids=["few", "many"])
@pytest.mark.parametrize("offsets_us", [(0, 0), (5_000_000, 5_000_000), (0, 5_000_000)])
async def test_a_slot_of_many_jobs_is_a_row_each(
    runs: RunStore, jobs: list[int], offsets_us: tuple[int, int]
) -> None:
    offsets = [offsets_us[n % 2] for n in jobs]
    slot = PlannedSlot(micros(NOW), "slow", 3, False, 2, jobs, offsets)
    assert await runs.save_slots([slot]) == len(jobs)
    assert await runs.save_slots([slot]) == 0
    found = sorted(await runs.history(RunFilter(), limit=201), key=lambda run: run.key)
    assert [(run.key, run.due_at) for run in found] == [
        (RunKey(n, NOW), NOW + timedelta(microseconds=offset))
        for n, offset in zip(jobs, offsets, strict=True)
    ]
    assert {(r.status, r.queue, r.priority, r.schedule_version) for r in found} == {
        (Status.QUEUED, "slow", 3, 2)
    }


@pytest.mark.parametrize("jobs", [MANY[:4], MANY], ids=["few", "many"])
async def test_a_slot_takes_up_the_voided_and_keeps_the_others(
    runs: RunStore, jobs: list[int]
) -> None:
    await runs.save([planned(1, NOW + MINUTE), planned(2, NOW + MINUTE)])
    await runs.void(1, after=NOW, version=2, reason="edited")
    await runs.cancel(RunKey(2, NOW + MINUTE), reason="by a person")
    slot = PlannedSlot(micros(NOW + MINUTE), "default", 5, True, 2, jobs, [0] * len(jobs))
    assert await runs.save_slots([slot]) == len(jobs) - 1
    found = sorted(await runs.history(RunFilter(), limit=201), key=lambda run: run.key)
    kept = {run.key.job_id: run.status for run in found if run.status != Status.QUEUED}
    assert (len(found), kept) == (len(jobs), {2: Status.CANCELED})


@pytest.mark.parametrize("jobs", [MANY[:4], MANY], ids=["few", "many"])
async def test_a_slot_saves_what_an_interrupted_save_did_not(
    runs: RunStore, jobs: list[int]
) -> None:
    await runs.save([planned(1), planned(3)])
    slot = PlannedSlot(micros(NOW), "default", 5, True, 2, jobs, [0] * len(jobs))
    saved = await runs.save_slots([slot])
    assert saved == len(jobs), "the new ones, and two taken up from the version before"
    found = await runs.history(RunFilter(), limit=201)
    assert {(run.status, run.schedule_version) for run in found} == {(Status.QUEUED, 2)}
    assert len(found) == len(jobs)


async def test_a_plan_does_not_touch_a_run_that_has_started(runs: RunStore) -> None:
    await runs.save([planned()])
    await claim_one(runs)
    assert await runs.save([planned(schedule_version=2)]) == 0
    run = await runs.get(RunKey(1, NOW))
    assert run is not None
    assert (run.status, run.schedule_version) == (Status.RUNNING, 1)


async def test_a_later_version_takes_up_a_voided_slot_and_an_older_one_does_not(
    runs: RunStore,
) -> None:
    await runs.save([planned(slot=NOW + MINUTE)])
    await runs.void(1, after=NOW, version=2, reason="edited")
    assert await runs.save([planned(slot=NOW + MINUTE, schedule_version=1)]) == 0
    assert await runs.save([planned(slot=NOW + MINUTE, schedule_version=2)]) == 1
    run = await runs.get(RunKey(1, NOW + MINUTE))
    assert run is not None
    assert (run.status, run.reason, run.finished_at) == (Status.QUEUED, None, None)


async def test_a_later_version_revalidates_a_queued_slot(runs: RunStore) -> None:
    await runs.save([planned(slot=NOW + MINUTE)])
    moved = planned(slot=NOW + MINUTE, schedule_version=2, due_us=micros(NOW + 2 * MINUTE))
    assert await runs.save([moved]) == 1
    run = await runs.get(RunKey(1, NOW + MINUTE))
    assert run is not None
    assert (run.schedule_version, run.due_at) == (2, NOW + 2 * MINUTE)


async def test_a_run_canceled_by_a_person_stays_canceled(runs: RunStore) -> None:
    await runs.save([planned(slot=NOW + MINUTE)])
    assert await runs.cancel(RunKey(1, NOW + MINUTE), reason="by a person")
    assert await runs.save([planned(slot=NOW + MINUTE, schedule_version=2)]) == 0
    assert not await runs.cancel(RunKey(1, NOW + MINUTE), reason="by a person")
