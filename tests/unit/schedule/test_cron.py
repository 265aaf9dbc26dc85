"""Cron lines, judged by trying every second or day; and what they warn about."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from duly.errors import NeverFires
from duly.schedule import parse

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def warned(text: str) -> list[str]:
    return list(parse(text).warnings(NOW))


@pytest.mark.parametrize(
    ("text", "hours", "minutes", "seconds"),
    [
        ("*/7 5,59 0-3,22 * * *", {0, 1, 2, 3, 22}, {5, 59}, set(range(0, 60, 7))),
        ("59 */30 * * * *", set(range(24)), {0, 30}, {59}),
        ("0 0 12 * * *", {12}, {0}, {0}),
    ],
)
def test_the_next_time_of_day_is_the_first_second_that_matches(
    text: str, hours: set[int], minutes: set[int], seconds: set[int]
) -> None:
    schedule = parse(text)
    for start in (NOW, NOW.replace(hour=3, minute=59, second=58), NOW.replace(hour=23, minute=59)):
        slow = start + timedelta(seconds=1)
        while not (slow.hour in hours and slow.minute in minutes and slow.second in seconds):
            slow += timedelta(seconds=1)
        assert schedule.next_after(start) == slow
        assert schedule.next_after(start + timedelta(microseconds=1)) == slow


def test_days_match_over_leap_years_and_centuries() -> None:
    schedule = parse("0 0 29 2 */7")
    expected = [
        datetime(year, 2, 29, tzinfo=UTC)
        for year in range(1901, 2200)
        if (date(year, 3, 1) - timedelta(days=1)).day == 29 and date(year, 2, 29).weekday() == 6
    ]
    found, after = [], datetime(1901, 1, 1, tzinfo=UTC)
    while (slot := schedule.next_after(after)) is not None and slot.year < 2200:
        found.append(slot)
        after = slot
    assert found == expected


@pytest.mark.parametrize("text", ["0 0 29 2 *", "0 0 29 2 */2", "0 0 L 2 wed", "0 0 29W 2 *"])
def test_what_comes_on_some_calendar_is_accepted(text: str) -> None:
    assert parse(text).next_after(NOW) is not None


@pytest.mark.parametrize("text", ["0 0 30,31 2 */2", "0 0 L-29 2 *", "0 0 31W 4,6 *"])
def test_what_comes_on_no_calendar_is_refused(text: str) -> None:
    with pytest.raises(NeverFires):
        parse(text)


def test_a_day_that_months_lack_is_warned_about_with_their_names() -> None:
    assert warned("0 6 30 * *") == [
        (
            "day 30 does not exist in 1 month (Feb), without a run there; "
            "the last day of each month is L (or `monthly last`)"
        )
    ]
    assert warned("monthly 29 06:00") == [
        (
            "day 29 does not exist in February in most years, without a run there; "
            "the last day of each month is L (or `monthly last`)"
        )
    ]


def test_a_day_that_every_month_of_the_line_has_is_not_warned_about() -> None:
    assert warned("0 6 31 1,3,12 *") == []
    assert warned("yearly 12-31 23:00") == []
    assert warned("0 6 28,31 * *") == []
