"""Each form of the language beyond the cases: what it means, and how it is refused."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from duly.errors import InvalidSchedule, NeverFires, UnknownZone
from duly.schedule import Gap, Repeat, next_times, parse


def times(
    text: str,
    zone: str = "UTC",
    *,
    after: str = "2026-12-01T00:00:00Z",
    count: int = 3,
    gap: str = "after",
    repeat: str = "first",
) -> list[str]:
    schedule = parse(text, zone, gap=Gap(gap), repeat=Repeat(repeat))
    found = next_times(schedule, datetime.fromisoformat(after), count)
    return [slot.isoformat().replace("+00:00", "Z") for slot in found]


def refusal(text: str, zone: str = "UTC") -> str:
    with pytest.raises(InvalidSchedule) as caught:
        parse(text, zone)
    return str(caught.value)


def test_text_is_read_without_regard_to_case_and_blanks() -> None:
    assert parse("  DAILY \t 02:00 ").text == "daily 02:00"
    assert parse("0  9 * *\tMON").text == "0 9 * * mon"
    assert parse("rrule:freq=daily;byhour=3").text == "RRULE:FREQ=DAILY;BYHOUR=3"


def test_the_same_text_in_another_spelling_is_the_same_schedule() -> None:
    assert parse("Daily  02:00") == parse("daily 02:00")


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("first", ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
        ("second", ["2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"]),
        ("both", ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]),
    ],
)
def test_a_time_that_comes_twice_runs_as_the_job_chooses(policy: str, expected: list[str]) -> None:
    found = times("30 2 * * *", "Europe/Berlin", after="2026-10-24T12:00Z", count=2, repeat=policy)
    assert found == expected


def test_both_passes_come_in_the_order_of_instants() -> None:
    found = times(
        "15,45 2 * * *", "Europe/Berlin", after="2026-10-24T12:00Z", count=5, repeat="both"
    )
    assert found == [
        "2026-10-25T00:15:00Z",
        "2026-10-25T00:45:00Z",
        "2026-10-25T01:15:00Z",
        "2026-10-25T01:45:00Z",
        "2026-10-26T01:15:00Z",
    ]


def test_the_second_pass_is_found_from_within_the_first() -> None:
    found = times(
        "10 2 * * *", "Europe/Berlin", after="2026-10-25T00:50Z", count=1, repeat="second"
    )
    assert found == ["2026-10-25T01:10:00Z"]


def test_a_gap_can_be_left_out() -> None:
    found = times("30 2 * * *", "Europe/Berlin", after="2027-03-27T12:00Z", count=1, gap="skip")
    assert found == ["2027-03-29T00:30:00Z"]


def test_a_sparse_wild_line_finds_both_passes_a_year_ahead() -> None:
    """The offset is the same a year apart, with two changes between."""
    found = times("59 * 1 11 *", "America/New_York", after="2025-11-02T12:00Z", count=3)
    assert found == ["2026-11-01T04:59:00Z", "2026-11-01T05:59:00Z", "2026-11-01T06:59:00Z"]


def test_hourly_runs_in_each_elapsed_hour() -> None:
    found = times("hourly", "Europe/Berlin", after="2026-10-24T23:30Z", count=3)
    assert found == ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 0 31W * *", ["2026-12-31", "2027-01-29", "2027-03-31"]),
        ("0 0 29W 2 *", ["2028-02-29", "2032-02-27", "2036-02-29"]),
        ("0 0 1W,L-2 * *", ["2026-12-01", "2026-12-29", "2027-01-01"]),
        ("0 0 L-30 * *", ["2026-12-01", "2027-01-01", "2027-03-01"]),
        ("0 0 * * 7L", ["2026-12-27", "2027-01-31", "2027-02-28"]),
        ("0 0 * * sun#1,sat#3", ["2026-12-06", "2026-12-19", "2027-01-03"]),
        ("0 0 L * mon", ["2026-12-07", "2026-12-14", "2026-12-21"]),
        ("0 0 ? * mon", ["2026-12-07", "2026-12-14", "2026-12-21"]),
        ("0 0 13 * fri", ["2026-12-04", "2026-12-11", "2026-12-13"]),
        ("0 0 */31 * *", ["2026-12-01", "2027-01-01", "2027-02-01"]),
        ("0 0 * * 1/2", ["2026-12-02", "2026-12-04", "2026-12-06"]),
    ],
)
def test_days_that_move(text: str, expected: list[str]) -> None:
    found = times(text, after="2026-11-30T12:00Z")
    assert [slot[:10] for slot in found] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("every 30 seconds", ["2026-12-01T00:00:30Z", "2026-12-01T00:01:00Z"]),
        ("every minute", ["2026-12-01T00:01:00Z", "2026-12-01T00:02:00Z"]),
        ("@every 2h", ["2026-12-01T02:00:00Z", "2026-12-01T04:00:00Z"]),
        ("every week", ["2026-12-07T00:00:00Z", "2026-12-14T00:00:00Z"]),
        ("every 14 days", ["2026-12-07T00:00:00Z", "2026-12-21T00:00:00Z"]),
        ("every 3 days", ["2026-12-03T00:00:00Z", "2026-12-06T00:00:00Z"]),
        (
            "every 90 minutes from 2026-12-01T00:00:00.5+01:00",
            ["2026-12-01T00:30:00.500000Z", "2026-12-01T02:00:00.500000Z"],
        ),
    ],
)
def test_intervals_lie_on_the_clocks_multiples(text: str, expected: list[str]) -> None:
    assert times(text, count=2) == expected


def test_an_anchor_comes_first_and_nothing_before_it() -> None:
    found = times("every 1h from 2027-03-28T02:30", "Europe/Berlin", count=2)
    assert found == ["2027-03-28T01:00:00Z", "2027-03-28T02:00:00Z"], "in the gap: right after it"


def test_a_one_off_keeps_fractions() -> None:
    assert times("at 2026-12-04T18:00:00.25Z") == ["2026-12-04T18:00:00.250000Z"]


def test_a_one_off_can_run_twice_or_not_at_all() -> None:
    twice = times("at 2027-10-31T02:30", "Europe/Berlin", repeat="both")
    assert twice == ["2027-10-31T00:30:00Z", "2027-10-31T01:30:00Z"]
    assert times("at 2027-03-28T02:30", "Europe/Berlin", gap="skip") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "DTSTART:20260105T090000 RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO",
            ["2026-12-07T09:00:00Z", "2026-12-21T09:00:00Z", "2027-01-04T09:00:00Z"],
        ),
        (
            "DTSTART:20260106T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=TU,SU",
            ["2026-12-06T09:00:00Z", "2026-12-08T09:00:00Z", "2026-12-20T09:00:00Z"],
        ),
        (
            "RRULE:FREQ=YEARLY;BYWEEKNO=1;BYDAY=MO;BYHOUR=6",
            ["2027-01-04T06:00:00Z", "2028-01-03T06:00:00Z", "2029-01-01T06:00:00Z"],
        ),
        (
            "RRULE:FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
            ["2027-08-13T00:00:00Z", "2028-10-13T00:00:00Z", "2029-04-13T00:00:00Z"],
        ),
        (
            "RRULE:FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0,30;BYSETPOS=1,-1",
            ["2026-12-01T09:00:00Z", "2026-12-01T17:30:00Z", "2026-12-02T09:00:00Z"],
        ),
        (
            "DTSTART:20261129T100000 RRULE:FREQ=HOURLY;INTERVAL=5;BYHOUR=10,15;COUNT=20",
            ["2026-12-04T10:00:00Z", "2026-12-04T15:00:00Z", "2026-12-09T10:00:00Z"],
        ),
        (
            "RRULE:FREQ=YEARLY;BYDAY=20MO",
            ["2027-05-17T00:00:00Z", "2028-05-15T00:00:00Z", "2029-05-14T00:00:00Z"],
        ),
        (
            "RRULE:FREQ=DAILY;BYHOUR=6;UNTIL=20261202",
            ["2026-12-01T06:00:00Z", "2026-12-02T06:00:00Z"],
        ),
        (
            "RRULE:FREQ=DAILY;BYHOUR=6;UNTIL=20261202T060000Z",
            ["2026-12-01T06:00:00Z", "2026-12-02T06:00:00Z"],
        ),
        (
            "RRULE:FREQ=MONTHLY;BYDAY=TU,1WE",
            ["2026-12-02T00:00:00Z", "2026-12-08T00:00:00Z", "2026-12-15T00:00:00Z"],
        ),
        (
            "RRULE:FREQ=YEARLY;BYDAY=TU,-39TU,WE;BYHOUR=1,0;BYMINUTE=2",
            ["2026-12-01T00:02:00Z", "2026-12-01T01:02:00Z", "2026-12-02T00:02:00Z"],
        ),
        ("RRULE:FREQ=DAILY;BYHOUR=6;UNTIL=20261202T055959", ["2026-12-01T06:00:00Z"]),
    ],
)
def test_icalendar_rules(text: str, expected: list[str]) -> None:
    assert times(text) == expected


def test_a_first_week_counts_whole_for_bysetpos() -> None:
    """dateutil begins in the middle of DTSTART's week and takes Thursday for its first day."""
    rule = "DTSTART:20261203T080000 RRULE:FREQ=WEEKLY;BYDAY=MO,TH,FR;BYSETPOS=1"
    assert times(rule, count=2) == ["2026-12-07T08:00:00Z", "2026-12-14T08:00:00Z"]


def test_the_distance_from_dtstart_costs_nothing() -> None:
    near = "DTSTART:20260101T000000 RRULE:FREQ=SECONDLY;INTERVAL=7"
    far = "DTSTART:19700101T000000 RRULE:FREQ=SECONDLY;INTERVAL=7"
    began = time.perf_counter()
    for _ in range(50):
        times(near, count=1)
    middle = time.perf_counter()
    for _ in range(50):
        times(far, after="2299-01-01T00:00Z", count=1)
    # Walking there would take years; a factor of ten allows for a noisy machine.
    assert time.perf_counter() - middle < 10 * (middle - began) + 0.5


@pytest.mark.parametrize(
    "text",
    [
        "0 0 31 2,4,6,9,11 *",
        "0 0 30W 2 *",
        "0 0 29W 2 */7",
        "0 0 * 2 mon#5 2",
        "0 0 L-30 2,4,6,9,11 *",
        "yearly 02-30 12:00",
        "RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "RRULE:FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
        "RRULE:FREQ=MINUTELY;BYMONTHDAY=31;BYMONTH=4",
        "DTSTART:20261201T000000 RRULE:FREQ=DAILY;INTERVAL=7;BYDAY=MO",
        "DTSTART:20270101T000000 RRULE:FREQ=YEARLY;INTERVAL=2;BYMONTH=2;BYMONTHDAY=29",
        "DTSTART:20270101T000000 RRULE:FREQ=MONTHLY;INTERVAL=2;BYMONTH=2",
        "DTSTART:20270101T000000 RRULE:FREQ=HOURLY;INTERVAL=2;BYHOUR=3",
        "DTSTART:20270101T000000 RRULE:FREQ=HOURLY;INTERVAL=168;BYDAY=MO",
        "RRULE:FREQ=SECONDLY;BYSECOND=1;BYSETPOS=2",
        "RRULE:FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=3",
        "RRULE:FREQ=MONTHLY;BYDAY=5MO;BYMONTHDAY=1",
        "RRULE:FREQ=MONTHLY;BYMONTHDAY=1;BYSETPOS=2",
        "RRULE:FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6",
        "RRULE:FREQ=YEARLY;BYMONTH=1;BYMONTHDAY=1,2;BYSETPOS=3",
        "RRULE:FREQ=MINUTELY;INTERVAL=1439;BYHOUR=2;BYMINUTE=7;BYMONTH=2;BYMONTHDAY=29",
    ],
)
def test_what_never_comes_is_refused_soon(text: str) -> None:
    began = time.perf_counter()
    with pytest.raises(InvalidSchedule):
        parse(text)
    assert time.perf_counter() - began < 10


def test_a_never_coming_schedule_says_so() -> None:
    with pytest.raises(NeverFires, match="no year has such a day"):
        parse("0 0 30 2 *")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("61 * * * *", "minute '61': 61 is not between 0 and 59 (for example 30 or */5)"),
        ("* 22-2 * * *", "write 22-23,0-2"),
        ("* * * * fri-mon", "write fri-sat,sun-mon"),
        ("* * * nov-feb *", "write nov-dec,jan-feb"),
        ("* * * * 5-1/2", "write 5-6/2,0-1/2"),
        ("* * * foo *", "'foo' is not a number, or one of jan, feb"),
        ("* * * mon *", "'mon' is not a number, or one of jan, feb"),
        ("1-2-3 * * * *", "'2-3' is not a number"),
        ("5- * * * *", "a number is missing"),
        ("*/ * * * *", "a step is a whole number after /"),
        ("1/2/3 * * * *", "a step is a whole number after /"),
        ("? * * * *", "? may stand only in a day field"),
        ("0 0 32W * *", "days of the month are 1 to 31"),
        ("0 0 W * *", "days that move are written L, L-2, LW or 15W"),
        ("0 0 L-31 * *", "L-1 to L-30"),
        ("0 0 * * L", "the last Friday is 5L or friL"),
        ("0 0 * * mon#0", "a first (#1) to a fifth (#5)"),
        ("0 0 * * mon#", "a first (#1) to a fifth (#5)"),
        ("H/15 * * * *", "give the job a jitter"),
        ("0~30 * * * *", "give the job a jitter"),
        ("99999999999999999999 * * * *", "is not between 0 and 59"),
        ("0 2 * * *\n0 3 * * *", "a line break"),
        ("0\u00a02 * * *", "a character that cannot be part of it"),
        ("\u017fun 2 * * *", "a character that cannot be part of it"),
        ("0 0 * * * * 2027", "a year field is not known"),
        ("rate(5 minutes)", "write `every 5 minutes`"),
        ("CRON_TZ=UTC 0 2 * * *", "give it as the job's timezone"),
        ("tomorrow", "is no schedule; write a cron line"),
        ("@fortnightly", "'@fortnightly' is not known"),
        ("daily", "lacks a time of day"),
        ("daily 2pm", "lacks a time of day"),
        ("daily 2:5", "'2:5' is no time of day"),
        ("hourly 15", "is `15 * * * *`"),
        ("weekly monday 09:00", "'monday' is no day of the week; write mon"),
        ("weekly 09:00", "none of the phrases"),
        ("monthly 1,15 06:00", "several days are a cron line"),
        ("monthly sixth mon 06:00", "none of the phrases"),
        ("yearly 13-01 00:00", "is no date of a year"),
        ("every 5", "a length is a whole number and a unit"),
        ("every 1.5 hours", "a length is a whole number and a unit"),
        ("every monday", "write `weekly mon 09:00`"),
        ("every 500 ms", "a length is a whole number and a unit"),
        ("every 0s", "at least one second"),
        ("every 99999999999999 weeks", "at most 36500 days"),
        ("every hour from", "`from` lacks its moment"),
        ("at 2026-12-04", "2026-12-04T00:00"),
        ("at 2026-12-04 18:00", "joined by T"),
        ("at 2026-12-04T18:00+24:00", "is no offset from UTC"),
        ("at 2026-W49-5T18:00", "is no date and time"),
        ("at 2026-12-04T24:00", "there is no moment"),
        ("at 0001-01-01T00:00+14:00", "years go from 1900 to 9999"),
        ("every hour from 0001-01-01T00:00", "years go from 1900 to 9999"),
        ("DTSTART:00010101T000000 RRULE:FREQ=DAILY", "years go from 1900 to 9999"),
        ("FREQ=DAILY", "begins with RRULE:"),
        ("RRULE:FREQ=FORTNIGHTLY", "FREQ=FORTNIGHTLY is not known"),
        ("RRULE:BYDAY=MO", "a rule needs FREQ"),
        ("RRULE:FREQ=DAILY;FREQ=DAILY", "FREQ comes twice"),
        ("RRULE:FREQ=DAILY;X=1", "'X' is no part of a rule"),
        ("RRULE:FREQ=DAILY;BYHOUR=24", "'24' is not in 0 to 23"),
        ("RRULE:FREQ=DAILY;INTERVAL=0", "INTERVAL=0 is not between 1"),
        ("RRULE:FREQ=WEEKLY;BYDAY=2MO", "goes with FREQ=MONTHLY or YEARLY"),
        ("RRULE:FREQ=MONTHLY;BYDAY=6MO", "at most five of each day"),
        ("RRULE:FREQ=DAILY;BYSETPOS=1", "BYSETPOS chooses among others"),
        ("RRULE:FREQ=DAILY EXDATE:20261201T000000", "EXDATE, RDATE and EXRULE are not known"),
        ("DTSTART;TZID=Europe/Berlin:20260105T090000 RRULE:FREQ=DAILY", "set the job's timezone"),
        ("DTSTART:20260105T090000Z RRULE:FREQ=DAILY", "no Z: it is wall time"),
        ("DTSTART:20260105T090000", "after DTSTART comes RRULE:"),
        (
            "DTSTART:20260105T090000 RRULE:FREQ=DAILY;COUNT=2;UNTIL=20270101T000000",
            "COUNT and UNTIL exclude each other",
        ),
    ],
)
def test_a_refusal_names_the_part_and_the_form_that_would_say_it(text: str, message: str) -> None:
    assert message in refusal(text)


@pytest.mark.parametrize("zone", ["localtime", "posixrules", "europe/berlin", "UTC+2", "", "/etc"])
def test_only_names_of_the_iana_database_are_zones(zone: str) -> None:
    with pytest.raises(UnknownZone):
        parse("daily 02:00", zone)


def test_an_unknown_zone_is_refused_with_near_names() -> None:
    assert "Europe/Berlin" in refusal("daily 02:00", "europe/berlin")


def test_the_end_of_the_calendar_is_no_crash() -> None:
    end = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    for text in ("daily 02:00", "* * * * *", "every 2 weeks", "RRULE:FREQ=YEARLY", "0 0 1 1 *"):
        for zone in ("UTC", "Pacific/Kiritimati", "America/Los_Angeles"):
            assert parse(text, zone).next_after(end) is None


def test_an_instant_without_an_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="has no offset"):
        parse("daily 02:00").next_after(datetime(2026, 10, 24))  # noqa: DTZ001 - what is tested
