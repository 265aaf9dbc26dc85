"""What `duly schedule explain` and registration tell about a schedule."""

from __future__ import annotations

from datetime import UTC, datetime

from duly.schedule import Gap, Repeat, explain, parse

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def test_a_fixed_time_tells_what_the_next_changes_do_to_it() -> None:
    told = explain(parse("daily 02:30", "Europe/Berlin"), NOW)
    assert [(change.at, change.kind, change.effect) for change in told.changes] == [
        (
            datetime(2027, 3, 28, 1, tzinfo=UTC),
            "gap",
            "on 2027-03-28 02:30 does not exist: it runs once, at 03:00",
        ),
        (
            datetime(2027, 10, 31, 1, tzinfo=UTC),
            "repeat",
            "on 2027-10-31 02:30 comes twice: it runs the first time",
        ),
    ]
    assert told.warnings == tuple(change.effect for change in told.changes)


def test_the_jobs_choices_are_told() -> None:
    chosen = parse("daily 02:30", "Europe/Berlin", gap=Gap.SKIP, repeat=Repeat.BOTH)
    assert [change.effect for change in explain(chosen, NOW).changes] == [
        "on 2027-03-28 02:30 does not exist: that run is left out",
        "on 2027-10-31 02:30 comes twice: it runs both times",
    ]


def test_a_time_that_no_change_touches_tells_nothing() -> None:
    assert explain(parse("daily 04:00", "Europe/Berlin"), NOW).changes == ()
    assert explain(parse("daily 02:30", "UTC"), NOW).changes == ()
    assert explain(parse("every 5 minutes", "Europe/Berlin"), NOW).changes == ()


def test_a_wildcard_line_is_told_but_not_warned_about() -> None:
    told = explain(parse("*/5 * * * *", "Europe/Berlin"), NOW)
    assert [change.effect for change in told.changes] == [
        "on 2027-03-28 the times from 02:00 to 03:00 do not exist: nothing runs in between",
        "on 2027-10-31 the times from 02:00 to 03:00 come twice: it runs in both passes",
    ]
    assert told.warnings == ()


def test_the_next_times_are_given() -> None:
    told = explain(parse("every 12 hours"), NOW, count=2)
    assert told.next == (
        datetime(2026, 12, 1, 12, tzinfo=UTC),
        datetime(2026, 12, 2, tzinfo=UTC),
    )


def test_what_may_not_be_meant_is_warned_about() -> None:
    def warned(text: str) -> list[str]:
        return list(parse(text).warnings(NOW))

    assert warned("*/90 * * * *") == [
        (
            "minute: a step of 90 is wider than its field, so only the first value counts; "
            "for every 90 minutes write `every 90 minutes`"
        )
    ]
    assert warned("monthly 31 06:00") == [
        (
            "day 31 does not exist in 5 months (Feb, Apr, Jun, Sep, Nov), without a run there; "
            "the last day of each month is L (or `monthly last`)"
        )
    ]
    assert warned("every day") == [
        (
            "every 24 hours of elapsed time runs at 00:00 UTC, whatever the zone; for midnight in "
            "the job's zone write `daily 00:00`"
        )
    ]
    assert warned("0 2 * * *") == []


def test_a_schedule_is_said_in_words() -> None:
    assert parse("0 2 * * *", "Europe/Berlin").in_words() == (
        "At 02:00 every day, Europe/Berlin time"
    )
    assert parse("every 90 minutes").in_words() == (
        "every 90 minutes of elapsed time, counted from 1970-01-01 00:00 UTC"
    )
    assert parse("at 2026-12-04T18:00", "Asia/Tokyo").in_words() == (
        "once, at 2026-12-04 18:00:00, Asia/Tokyo time"
    )
    assert parse("0 9 15W * *").in_words() == (
        "when minute is 0, hour is 9, day of month is 15w, month is *, day of week is *, UTC time"
    )
