"""Decisions, as pure functions: when a slot runs, what a missed one becomes, what follows a try.

Values in, values out: no clock, no database. `flow/` asks here and carries out the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from duly.job import Job, JobState, Missed, MissedPolicy, Retry, Task
from duly.run import ClaimedRun, Outcome, Status
from duly.schedule import Schedule

# Counting missed slots one by one stops here: an every-second job after a month of outage must not
# hold up the planning of the others. The row then says "more than".
COUNT_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Skipped:
    """A stretch of slots that will not run, told in one row at `first`.

    Args:
        count: how many; exact up to COUNT_LIMIT, which stands for "at least so many".
    """

    first: datetime
    last: datetime
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class SlotPlan:
    """What planning does with one due slot.

    Args:
        run: the slot that gets a run, or None.
        skipped: the slots before it that will not run, or None.
        next_slot: where the job goes on; None where its schedule ends.
    """

    run: datetime | None
    skipped: Skipped | None
    next_slot: datetime | None


def first_slot(
    schedule: Schedule, *, after: datetime, starts_at: datetime | None, ends_at: datetime | None
) -> datetime | None:
    """The first slot strictly after `after` within the job's bounds (both inclusive), or None."""
    if starts_at is not None:
        after = max(after, starts_at - timedelta(microseconds=1))
    slot = schedule.next_after(after)
    return None if slot is None or (ends_at is not None and slot > ends_at) else slot


def next_start(job: Job, *, now: datetime) -> datetime | None:
    """When the job's next run may start, as a person asks it.

    `next_run_at` is where planning goes on, up to a horizon further; runs that are planned already
    come before it. A time at or before `now` is one that planning still owes.
    """
    if job.state in (JobState.PAUSED, JobState.DELETED):
        return None
    if job.next_run_at is not None and job.next_run_at <= now:
        return job.next_run_at
    spec, offset = job.spec, job.jitter_offset
    # A slot counts from the last change on, whatever its offset; its start must be to come.
    after = max(now - offset, job.changed_at)
    slot = first_slot(spec.parsed(), after=after, starts_at=spec.starts_at, ends_at=spec.ends_at)
    return None if slot is None else slot + offset


def plan_slot(
    schedule: Schedule,
    slot: datetime,
    *,
    now: datetime,
    offset: timedelta,
    missed: Missed,
    ends_at: datetime | None,
) -> SlotPlan:
    """Decide about `slot`, whose job falls due at `slot + offset`.

    The next slot follows from the slot itself, never from `now`: a late tick, a repeated one and a
    clock that was stepped all come to the same slots.
    """
    bound = _Bounded(schedule, ends_at)
    punctual_from = now - offset - missed.grace
    if slot >= punctual_from:
        return SlotPlan(run=slot, skipped=None, next_slot=bound.next_after(slot))
    match missed.policy:
        case MissedPolicy.CATCH_UP:
            return _catch_up(bound, slot, oldest=now - offset - missed.window, window=missed.window)
        case MissedPolicy.LATEST:
            return _latest(bound, slot, until=now - offset)
        case MissedPolicy.SKIP:
            skipped = _stretch(bound, slot, before=punctual_from, why="missed, policy skip")
            return SlotPlan(run=None, skipped=skipped, next_slot=bound.next_after(skipped.last))
        case _:
            assert_never(missed.policy)


def paused_slots(
    schedule: Schedule, slot: datetime, *, until: datetime, ends_at: datetime | None
) -> Skipped | None:
    """The slots from `slot` up to `until` that a pause left out, for the row that says so."""
    if slot > until:
        return None
    bound = _Bounded(schedule, ends_at)
    return _stretch(bound, slot, before=until + timedelta(microseconds=1), why="the job was paused")


@dataclass(frozen=True, slots=True)
class _Bounded:
    """A schedule that ends where its job does."""

    schedule: Schedule
    ends_at: datetime | None

    def next_after(self, instant: datetime) -> datetime | None:
        return first_slot(self.schedule, after=instant, starts_at=None, ends_at=self.ends_at)

    def last_before(self, instant: datetime, *, at_least: datetime) -> datetime:
        """The last slot before `instant`, found by looking back twice as far each time.

        `at_least` is a slot known to lie before `instant`, so the search ends.
        """
        reach = timedelta(seconds=1)
        while instant - reach > at_least:
            slot = self.next_after(instant - reach)
            if slot is not None and slot < instant:
                at_least = slot
                break
            reach *= 2
        while (slot := self.next_after(at_least)) is not None and slot < instant:
            at_least = slot
        return at_least


def _catch_up(bound: _Bounded, slot: datetime, *, oldest: datetime, window: timedelta) -> SlotPlan:
    if slot >= oldest:
        return SlotPlan(run=slot, skipped=None, next_slot=bound.next_after(slot))
    skipped = _stretch(bound, slot, before=oldest, why=f"missed, older than the window of {window}")
    return SlotPlan(run=None, skipped=skipped, next_slot=bound.next_after(skipped.last))


def _latest(bound: _Bounded, slot: datetime, *, until: datetime) -> SlotPlan:
    latest = bound.last_before(until + timedelta(microseconds=1), at_least=slot)
    skipped = None
    if latest > slot:
        skipped = _stretch(bound, slot, before=latest, why="missed, the latest runs for all")
    return SlotPlan(run=latest, skipped=skipped, next_slot=bound.next_after(latest))


def _stretch(bound: _Bounded, first: datetime, *, before: datetime, why: str) -> Skipped:
    """All slots from `first` (itself one) to the last before `before`, counted up to the limit."""
    last, count = first, 1
    while (slot := bound.next_after(last)) is not None and slot < before:
        last, count = slot, count + 1
        if count >= COUNT_LIMIT:
            last = bound.last_before(before, at_least=last)
            break
    amount = f"at least {count}" if count >= COUNT_LIMIT else str(count)
    told = f"{why}: {amount} {'slot' if count == 1 else 'slots'}"
    return Skipped(first, last, count, told)


@dataclass(frozen=True, slots=True)
class Next:
    """What a run becomes after a try.

    Args:
        status: queued for another try, or a final one.
        wait: from the end of this try until the next may start; None where there is none.
        counts: whether the try counts against the job's limit.
    """

    status: Status
    wait: timedelta | None = None
    counts: bool = True


_SUCCEEDED = Next(Status.SUCCEEDED)


def after_try(retry: Retry, outcome: Outcome, *, attempt: int) -> Next:
    """What follows try number `attempt`, which ended with `outcome`.

    A lost worker's try counts like a failed one, so a command that kills its workers ends in the
    dead letters. An interrupted one costs nothing, unless the job is not safe to repeat: then
    nobody can say what the command did, and a person must look.
    """
    match outcome:
        case Outcome.SUCCEEDED:
            return _SUCCEEDED
        case Outcome.CANCELED:
            return Next(Status.CANCELED, counts=False)
        case Outcome.INTERRUPTED:
            if retry.safe:
                return Next(Status.QUEUED, wait=timedelta(0), counts=False)
            return Next(Status.DEAD)
        case Outcome.LOST:
            if attempt < retry.tries:
                return Next(Status.QUEUED, wait=timedelta(0))
            return Next(Status.DEAD)
        case Outcome.FAILED | Outcome.TIMED_OUT:
            if attempt < retry.tries:
                return Next(Status.QUEUED, wait=backoff(retry, attempt))
            return Next(Status.DEAD)
        case _:
            assert_never(outcome)


def backoff(retry: Retry, attempt: int) -> timedelta:
    """The wait after failed try number `attempt` (the first is 1): doubled each time, capped."""
    # Past 2**30 any cap has long been reached; a larger shift would overflow timedelta.
    return min(retry.cap, retry.backoff * (1 << min(attempt - 1, 30)))


def void_reason(run: ClaimedRun, job: Task | None) -> str | None:
    """Why a claimed run must not start after all, or None.

    A schedule's edit voids what was planned for after it; slots due before it stay. Pause and
    delete stop whatever has not started. A person's own trigger outlives all but a delete.
    """
    if job is None or job.state is JobState.DELETED:
        return "the job was deleted"
    if run.manual:
        return None
    if job.state is JobState.PAUSED:
        return "the job is paused"
    if run.schedule_version < job.schedule_version and run.slot_us > job.changed_us:
        return "the job's schedule was edited"
    return None
