"""Rules of daily or finer frequency, judged by trying every period; and that they cost little."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from dateutil.rrule import rrulestr

from duly.errors import NeverFires
from duly.schedule import next_times, parse

START = "DTSTART:20261130T235030"


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY;INTERVAL=7;BYHOUR=0,3;BYMINUTE=2",
        "FREQ=SECONDLY;INTERVAL=3601;BYSECOND=31,32",
        "FREQ=MINUTELY;INTERVAL=11;BYHOUR=23,0,1;BYSECOND=5,50",
        "FREQ=MINUTELY;INTERVAL=1441;BYDAY=TU,WE",
        "FREQ=MINUTELY;BYMINUTE=58,1;BYDAY=MO;BYSECOND=0,30;BYSETPOS=-1",
        "FREQ=HOURLY;INTERVAL=5;BYMINUTE=0,30",
        "FREQ=HOURLY;BYHOUR=22,2;BYMONTHDAY=-1,1;BYMINUTE=59,7;BYSETPOS=1,2",
        "FREQ=HOURLY;INTERVAL=25;BYYEARDAY=1,-1,100",
        "FREQ=DAILY;INTERVAL=3;BYMONTH=12,2;BYHOUR=9,17;BYSETPOS=2",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=-1;BYSECOND=1",
    ],
)
def test_the_times_are_those_of_a_patient_walk(rule: str) -> None:
    # dateutil takes DTSTART's own parts for those that are not given, as the standard has it.
    walk = iter(rrulestr(f"{START}\nRRULE:{rule}"))
    expected = [next(walk).replace(tzinfo=UTC) for _ in range(12)]
    after = expected[0] - timedelta(microseconds=1)
    assert list(next_times(parse(f"{START} RRULE:{rule}"), after, 12)) == expected
    assert (
        parse(f"{START} RRULE:{rule}").next_after(datetime(1900, 1, 1, tzinfo=UTC)) == (expected[0])
    )


def test_a_count_of_a_sparse_rule_is_turned_into_its_end_at_once() -> None:
    """A walk over every second of fifty thousand days would take minutes."""
    rule = parse(
        "DTSTART:20260101T000000 RRULE:FREQ=SECONDLY;BYHOUR=3;BYMINUTE=7;BYSECOND=5;COUNT=50000"
    )
    last = datetime(2026, 1, 1, 3, 7, 5, tzinfo=UTC) + timedelta(days=49_999)
    assert rule.next_after(last - timedelta(seconds=1)) == last
    assert rule.next_after(last) is None


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY;INTERVAL=3600;BYMINUTE=3",
        "FREQ=SECONDLY;INTERVAL=86400;BYHOUR=3",
        "FREQ=MINUTELY;INTERVAL=60;BYMINUTE=3",
        "FREQ=HOURLY;INTERVAL=24;BYHOUR=3",
    ],
)
def test_a_time_of_day_that_interval_never_reaches_is_refused(rule: str) -> None:
    with pytest.raises(NeverFires, match="in steps of INTERVAL it never reaches"):
        parse(f"RRULE:{rule}")


def test_an_end_before_the_first_time_is_refused() -> None:
    for until in ("20261231T000000", "20261231T000000Z", "20261231"):
        with pytest.raises(NeverFires):
            parse(f"DTSTART:20270101T090000 RRULE:FREQ=DAILY;UNTIL={until}")


def test_an_end_in_utc_is_compared_as_an_instant() -> None:
    rule = "DTSTART:20270101T090000 RRULE:FREQ=DAILY;UNTIL=20270101T000000Z"
    assert parse(rule, "Asia/Tokyo").next_after(datetime(2026, 1, 1, tzinfo=UTC)) == (
        datetime(2027, 1, 1, tzinfo=UTC)
    )
    with pytest.raises(NeverFires, match="UNTIL lies before its first time"):
        parse(rule, "Europe/Berlin")


def test_a_period_longer_than_the_search_still_comes() -> None:
    rule = parse("DTSTART:20200403T164948 RRULE:FREQ=DAILY;INTERVAL=86400;BYHOUR=4")
    assert rule.next_after(datetime(2026, 1, 1, tzinfo=UTC)) == (
        datetime(2020, 4, 3, 4, 49, 48, tzinfo=UTC) + timedelta(days=86_400)
    )
