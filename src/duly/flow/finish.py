"""Finish: store how tries ended and what follows, under the tokens of their claims.

A result whose run is no longer the worker's changes nothing and becomes an event: another worker
holds the run, or a person ended it. A crash before the call leaves the run to the sweep, which
counts the try as lost. A call whose answer was lost may be repeated: it finds its result stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from duly.clock import instant
from duly.encoding import to_micros
from duly.events import Event, ResultDiscarded, RunEnded
from duly.executor import Result
from duly.job import Retry
from duly.policy import after_try
from duly.run import ClaimedRun, Outcome, Status
from duly.store import RunStore, Settlement


class Ended(NamedTuple):
    """A try that has ended, with the policy that says what follows."""

    run: ClaimedRun
    retry: Retry
    result: Result


async def finish(runs: RunStore, ended: Sequence[Ended], *, tell_all: bool = True) -> list[Event]:
    """Store the results of many tries in one transaction.

    Args:
        tell_all: have events of successes too. Nearly all are, and a busy worker tells nobody.
    """
    settlements = [settlement(each) for each in ended]
    ours = await runs.settle(settlements)
    events: list[Event] = []
    for s, held in zip(settlements, ours, strict=True):
        if not held and not await _is_stored(runs, s):
            events.append(ResultDiscarded(s.run.key, s.run.attempt, s.run.token))
        elif tell_all or s.outcome is not Outcome.SUCCEEDED:
            events.append(RunEnded(s.run.key, s.run.attempt, s.outcome, s.status, s.reason))
    return events


async def _is_stored(runs: RunStore, s: Settlement) -> bool:
    """Whether an earlier call, whose answer was lost, has stored this very result."""
    if s.status is Status.SUCCEEDED:
        run = await runs.get(s.run.key)
        return run is not None and (run.status, run.token) == (s.status, s.run.token)
    finished_at = instant(s.finished_us)
    return any(
        (each.attempt, each.outcome, each.finished_at) == (s.run.attempt, s.outcome, finished_at)
        for each in await runs.tries(s.run.key)
    )


def settlement(ended: Ended) -> Settlement:
    """The end of a try, with what follows by its policy."""
    run, retry, result = ended
    following = after_try(retry, result.outcome, attempt=run.attempt)
    wait = following.wait
    return Settlement(
        run,
        result.outcome,
        following.status,
        result.finished_us,
        result.started_us,
        None if wait is None else result.finished_us + to_micros(wait),
        following.counts,
        result.exit_code,
        result.signal,
        result.reason,
        result.output,
    )
