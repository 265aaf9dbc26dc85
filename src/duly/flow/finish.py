"""Finish: store how tries ended and what follows, under the tokens of their claims.

A result whose run is no longer the worker's changes nothing and becomes an event: another worker
holds the run, or a person ended it. A crash before the call leaves the run to the sweep, which
counts the try as lost; a repeated call finds the run settled and is discarded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from duly.events import Event, ResultDiscarded, RunEnded
from duly.executor import Result
from duly.job import Retry
from duly.policy import after_try
from duly.run import ClaimedRun
from duly.store import RunStore, Settlement


class Ended(NamedTuple):
    """A try that has ended, with the policy that says what follows."""

    run: ClaimedRun
    retry: Retry
    result: Result


async def finish(runs: RunStore, ended: Sequence[Ended]) -> list[Event]:
    """Store the results of many tries in one transaction."""
    settlements = [_settlement(each) for each in ended]
    ours = await runs.settle(settlements)
    return [
        RunEnded(s.key, s.attempt, s.outcome, s.status, s.reason)
        if held
        else ResultDiscarded(s.key, s.attempt, s.token)
        for s, held in zip(settlements, ours, strict=True)
    ]


def _settlement(ended: Ended) -> Settlement:
    run, result = ended.run, ended.result
    following = after_try(ended.retry, result.outcome, attempt=run.attempt, at=result.finished_at)
    return Settlement(
        key=run.key,
        token=run.token,
        attempt=run.attempt,
        outcome=result.outcome,
        status=following.status,
        finished_at=result.finished_at,
        started_at=result.started_at,
        due_at=following.due_at,
        counts=following.counts,
        exit_code=result.exit_code,
        signal=result.signal,
        reason=result.reason,
        output=result.output,
    )
