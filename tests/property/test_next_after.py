"""Random schedules: `next_after` against the oracle, and what must hold of it by itself.

The same examples every time, unless DULY_EXAMPLES says how many others to look at.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import HealthCheck, assume, event, given, settings

from duly.errors import InvalidSchedule, NeverFires
from duly.schedule import Gap, Repeat, Schedule, explain, parse
from tests.oracle.cron import days, parse_cron
from tests.oracle.expansion import next_times, shown
from tests.property.strategies import Example, any_text, any_zone, examples

TIMES = 12
CRON = re.compile(r"[\d*]\S*(\s+\S+){4,5}$")
MICROSECOND = timedelta(microseconds=1)
HUNT = "DULY_EXAMPLES" in os.environ


def checked(count: int) -> settings:
    return settings(
        max_examples=int(os.environ.get("DULY_EXAMPLES", count)),
        derandomize=not HUNT,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def parsed(example: Example) -> Schedule:
    gap, repeat = Gap(example.gap), Repeat(example.repeat)
    return parse(example.text, example.zone, gap=gap, repeat=repeat)


def parsed_or_discarded(example: Example) -> Schedule:
    try:
        return parsed(example)
    except NeverFires:
        assume(condition=False)
        raise


def times_of(schedule: Schedule, after: datetime, count: int, limit: datetime) -> list[datetime]:
    found: list[datetime] = []
    while len(found) < count:
        following = schedule.next_after(found[-1] if found else after)
        if following is None or following > limit:
            break
        found.append(following)
    return found


def limit_days(text: str) -> int:
    """How far the oracle looks: as far as it can in a second."""
    if "HOURLY" in text.upper() or "MINUTELY" in text.upper():
        return 200
    return 8 * 366


@checked(300)
@given(examples())
def test_next_times_are_those_of_the_oracle(example: Example) -> None:
    limit = limit_days(example.text)
    expected = next_times(
        example.text,
        example.zone,
        example.after,
        TIMES,
        limit,
        gap=example.gap,
        repeat=example.repeat,
    )
    try:
        schedule = parsed(example)
    except NeverFires:
        event("never fires")
        actual = []
    else:
        last = example.after + timedelta(days=limit)
        actual = times_of(schedule, example.after, TIMES, last)

    assert shown(example.zone, expected) == shown(example.zone, actual)


@checked(60)
@given(examples())
def test_a_cron_line_is_refused_as_never_firing_only_if_no_day_of_400_years_matches(
    example: Example,
) -> None:
    try:
        parsed(example)
    except NeverFires:
        if CRON.match(example.text):
            cron = parse_cron(example.text)
            assert not any(cron.on(day) for day in days(date(2000, 1, 1), date(2399, 12, 31)))


@checked(120)
@given(examples())
def test_the_next_time_is_after_the_asked_one_and_the_first_such(example: Example) -> None:
    schedule = parsed_or_discarded(example)
    following = schedule.next_after(example.after)
    assume(following is not None)
    assert following is not None

    assert following > example.after
    assert following.utcoffset() == timedelta(0)
    assert following == schedule.next_after(following - MICROSECOND)
    middle = example.after + (following - example.after) / 2
    assert following == schedule.next_after(middle)


@checked(120)
@given(examples())
def test_a_later_question_never_has_an_earlier_answer(example: Example) -> None:
    schedule = parsed_or_discarded(example)
    step = timedelta(minutes=17, seconds=1)
    answers = [schedule.next_after(example.after + number * step) for number in range(12)]
    times = [answer or datetime.max.replace(tzinfo=UTC) for answer in answers]

    assert sorted(times) == times


@checked(120)
@given(examples())
def test_the_normalised_text_says_the_same(example: Example) -> None:
    schedule = parsed_or_discarded(example)
    again = parsed(Example(schedule.text, *_rest(example)))
    limit = example.after + timedelta(days=3000)

    assert schedule.text == again.text
    assert times_of(schedule, example.after, 6, limit) == times_of(again, example.after, 6, limit)


@checked(200)
@given(example=examples())
def test_every_schedule_can_be_explained(example: Example) -> None:
    told = explain(parsed_or_discarded(example), example.after, count=1)
    assert told.words
    assert all(isinstance(line, str) for line in told.warnings)


def _rest(example: Example) -> tuple[str, datetime, str, str]:
    return example.zone, example.after, example.gap, example.repeat


@checked(300)
@given(any_text, any_zone)
def test_text_that_is_no_schedule_raises_only_invalid_schedule(text: str, zone: str) -> None:
    after = datetime(2026, 12, 1, tzinfo=UTC)
    try:
        schedule = parse(text, zone)
    except InvalidSchedule:
        event("refused")
        return
    following = schedule.next_after(after)

    assert following is None or following > after


@pytest.mark.parametrize(
    "text",
    ["at 2027-03-28T02:30", "30 2 28 3 *", "daily 02:30", "RRULE:FREQ=DAILY;BYHOUR=2;BYMINUTE=30"],
)
def test_every_fixed_form_treats_the_same_gap_alike(text: str) -> None:
    after = datetime(2027, 3, 27, 12, tzinfo=UTC)

    moved = parse(text, "Europe/Berlin").next_after(after)
    try:
        left_out = parse(text, "Europe/Berlin", gap=Gap.SKIP).next_after(after)
    except NeverFires:
        left_out = None

    assert datetime(2027, 3, 28, 1, tzinfo=UTC) == moved
    assert left_out is None or left_out >= datetime(2027, 3, 29, 0, 30, tzinfo=UTC)
