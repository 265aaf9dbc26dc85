"""Rescue: hand on the runs of workers that have fallen silent.

A lost try counts as a try, so a command that kills its workers ends as dead. Each run is settled
under the token of its lost claim: two sweeps at once, or a worker that comes back and finishes in
the same moment, end it once.
"""

from __future__ import annotations

from datetime import timedelta

from duly.clock import micros
from duly.encoding import to_micros
from duly.events import Event, RunRescued
from duly.job import Retry
from duly.policy import after_try
from duly.run import Outcome
from duly.store import JobStore, LostRun, RunStore, Settlement


async def rescue(
    jobs: JobStore, runs: RunStore, *, silent_for: timedelta, limit: int = 500
) -> list[Event]:
    """Settle up to `limit` runs whose worker has been silent for longer than `silent_for`."""
    lost = await runs.lost(silent_for=silent_for, limit=limit)
    if not lost:
        return []
    known = await jobs.get_many(list({each.run.job_id for each in lost}))
    at_us = micros(await runs.now())
    settlements = [
        _settlement(
            each, known[each.run.job_id].spec.retry if each.run.job_id in known else Retry(), at_us
        )
        for each in lost
    ]
    ours = await runs.settle(settlements)
    return [
        RunRescued(each.run, each.worker, settlement.status)
        for each, settlement, held in zip(lost, settlements, ours, strict=True)
        if held
    ]


def _settlement(lost: LostRun, retry: Retry, at_us: int) -> Settlement:
    run = lost.run
    following = after_try(retry, Outcome.LOST, attempt=run.attempt)
    unsafe = "" if retry.safe else "; outcome unknown, and the job is not safe to repeat"
    return Settlement(
        run,
        Outcome.LOST,
        following.status,
        finished_us=at_us,
        started_us=lost.started_us,
        due_us=None if following.wait is None else at_us + to_micros(following.wait),
        counts=following.counts,
        reason=f"lost with its worker {lost.worker}{unsafe}",
    )
