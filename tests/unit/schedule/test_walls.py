"""What a change of the zone does to one wall time, whatever its form."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from duly.schedule import Gap, Repeat, load_zone
from duly.schedule.walls import resolve


def slots(
    wall: str, zone: str, *, gap: Gap = Gap.AFTER, repeat: Repeat = Repeat.FIRST
) -> list[datetime]:
    _, found = resolve(datetime.fromisoformat(wall), load_zone(zone), gap=gap, repeat=repeat)
    return list(found)


@pytest.mark.parametrize(
    ("wall", "zone", "end"),
    [
        ("2027-03-28T02:00", "Europe/Berlin", datetime(2027, 3, 28, 1, tzinfo=UTC)),
        ("2027-03-28T02:59:59", "Europe/Berlin", datetime(2027, 3, 28, 1, tzinfo=UTC)),
        ("2026-10-04T02:15", "Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
        ("2026-03-29T02:30", "Antarctica/Troll", datetime(2026, 3, 29, 1, tzinfo=UTC)),
        ("2011-12-30T00:00", "Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC)),
        ("2011-12-30T23:59", "Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC)),
    ],
)
def test_a_wall_time_in_a_gap_is_the_gaps_end_or_nothing(
    wall: str, zone: str, end: datetime
) -> None:
    assert slots(wall, zone) == [end]
    assert slots(wall, zone, gap=Gap.SKIP) == []


def test_a_gaps_end_itself_is_an_ordinary_time() -> None:
    assert slots("2027-03-28T03:00", "Europe/Berlin", gap=Gap.SKIP) == [
        datetime(2027, 3, 28, 1, tzinfo=UTC)
    ]


def test_a_wall_time_that_comes_twice_is_either_or_both() -> None:
    first = datetime(2026, 4, 4, 14, 45, tzinfo=UTC)
    second = datetime(2026, 4, 4, 15, 15, tzinfo=UTC)
    wall, zone = "2026-04-05T01:45", "Australia/Lord_Howe"
    assert slots(wall, zone) == [first]
    assert slots(wall, zone, repeat=Repeat.SECOND) == [second]
    assert slots(wall, zone, repeat=Repeat.BOTH) == [first, second]
