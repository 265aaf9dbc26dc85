"""Every line of the crontabs that Debian ships fires when the oracle says so, over a change."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from duly.errors import InvalidSchedule
from duly.schedule import parse
from tests.oracle.crontab_lines import CrontabLine, debian_lines
from tests.oracle.expansion import next_times, shown

TIMES = 50
LIMIT_DAYS = 51 * 31  # fifty times of a monthly line
LINES = debian_lines()
TIMED = [line for line in LINES if line.schedule != "@reboot"]
# A zone, and a moment shortly before one of its changes.
CHANGES = {
    "Europe/Berlin": datetime(2026, 3, 28, 12, tzinfo=UTC),
    "America/New_York": datetime(2026, 10, 31, 12, tzinfo=UTC),
    "Australia/Lord_Howe": datetime(2026, 10, 3, 3, tzinfo=UTC),
}


@pytest.mark.parametrize("zone", CHANGES)
@pytest.mark.parametrize("line", TIMED, ids=str)
def test_the_next_fifty_times_are_those_of_the_oracle(line: CrontabLine, zone: str) -> None:
    after = CHANGES[zone]
    expected = next_times(line.schedule, zone, after, TIMES, LIMIT_DAYS)
    schedule = parse(line.schedule, zone)
    actual: list[datetime] = []
    for _ in range(TIMES):
        following = schedule.next_after(actual[-1] if actual else after)
        assert following is not None
        actual.append(following)

    assert len(expected) == TIMES
    assert shown(zone, expected) == shown(zone, actual)


@pytest.mark.parametrize("line", [x for x in LINES if x.schedule == "@reboot"], ids=str)
def test_a_line_without_a_time_is_refused(line: CrontabLine) -> None:
    with pytest.raises(InvalidSchedule):
        parse(line.schedule)


def test_there_are_lines_of_many_packages() -> None:
    assert len({line.file.parent for line in LINES}) >= 25
    assert len(LINES) >= 45
