"""The zones that may be named, and where they change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from duly.errors import UnknownZone
from duly.schedule import load_zone, zone_names
from duly.schedule.zones import Transition, first_transition, transitions


def test_every_name_loads_and_carries_its_name() -> None:
    assert {load_zone(name).key for name in zone_names()} == zone_names()


@pytest.mark.parametrize(
    ("zone", "year", "expected"),
    [
        (
            "Europe/Berlin",
            2027,
            [("2027-03-28T01:00", 1, 2), ("2027-10-31T01:00", 2, 1)],
        ),
        ("Pacific/Apia", 2011, [("2011-04-02T14:00", -10, -11), ("2011-09-24T14:00", -11, -10)]),
        (
            "Australia/Lord_Howe",
            2026,
            [("2026-04-04T15:00", 11, 10.5), ("2026-10-03T15:30", 10.5, 11)],
        ),
        ("Asia/Tokyo", 2026, []),
    ],
)
def test_a_years_changes_are_found_to_the_second(
    zone: str, year: int, expected: list[tuple[str, float, float]]
) -> None:
    found = transitions(load_zone(zone), year)
    assert list(found)[: len(expected)] == [
        Transition(
            datetime.fromisoformat(at).replace(tzinfo=UTC),
            timedelta(hours=before),
            timedelta(hours=after),
        )
        for at, before, after in expected
    ]


def test_a_change_counts_at_the_end_of_a_span_and_not_at_its_beginning() -> None:
    zone = load_zone("Europe/Berlin")
    at = datetime(2027, 3, 28, 1, tzinfo=UTC)
    second = timedelta(seconds=1)
    assert first_transition(zone, at - second, at) == transitions(zone, 2027)[0]
    assert first_transition(zone, at, at + second) is None


def test_a_zone_that_is_close_is_offered() -> None:
    with pytest.raises(UnknownZone, match="America/New_York"):
        load_zone("America/NewYork")
