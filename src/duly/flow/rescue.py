"""Rescue: hand on the runs of workers that have fallen silent.

A lost try counts as a try, so a command that kills its workers ends as dead. Each run is settled
under the token of its lost claim: two sweeps at once, or a worker that comes back and finishes in
the same moment, end it once.
"""

from __future__ import annotations

from datetime import timedelta

from duly.clock import micros
from duly.events import Event, RunRescued
from duly.executor import Result
from duly.flow.finish import Ended, settlement
from duly.job import Retry
from duly.run import Outcome
from duly.store import JobStore, LostRun, RunStore


async def rescue(
    jobs: JobStore, runs: RunStore, *, silent_for: timedelta, limit: int = 500
) -> list[Event]:
    """Settle up to `limit` runs whose worker has been silent for longer than `silent_for`."""
    lost = await runs.lost(silent_for=silent_for, limit=limit)
    if not lost:
        return []
    known = await jobs.get_many(list({each.run.job_id for each in lost}))
    at_us = micros(await runs.now())
    settlements = []
    for each in lost:
        job = known.get(each.run.job_id)
        settlements.append(settlement(_ended(each, job.spec.retry if job else Retry(), at_us)))
    ours = await runs.settle(settlements)
    return [
        RunRescued(each.run, each.worker, end.status)
        for each, end, held in zip(lost, settlements, ours, strict=True)
        if held
    ]


def _ended(lost: LostRun, retry: Retry, at_us: int) -> Ended:
    unsafe = "" if retry.safe else "; outcome unknown, and the job is not safe to repeat"
    reason = f"lost with its worker {lost.worker}{unsafe}"
    return Ended(lost.run, retry, Result(Outcome.LOST, lost.started_us, at_us, reason=reason))
