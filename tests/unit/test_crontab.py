"""Crontabs rule by rule: settings, entries, percent signs, comments, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duly.crontab import CronLine, read
from tests.oracle.crontab_lines import USER_CRONTABS, debian_files, lines_of


def lines(text: str, *, system: bool = False) -> list[CronLine]:
    found = read(text, system=system)
    assert found.faults == (), found.faults
    return list(found.lines)


def one(text: str, *, system: bool = False) -> CronLine:
    (line,) = lines(text, system=system)
    return line


def fault(text: str, *, system: bool = False) -> str:
    found = read(text, system=system)
    assert found.lines == ()
    (only,) = found.faults
    return f"{only.number}: {only.message}"


def warned(text: str) -> list[str]:
    return [warning.message for warning in read(text, system=False).warnings]


def test_blanks_and_tabs_part_fields_and_lead_a_line() -> None:
    line = one(" \t 0\t 5 *  * 1-5 \t run it\n")
    assert (line.schedule, line.shell) == ("0 5 * * 1-5", "run it")


def test_a_setting_holds_for_the_lines_below_it_until_it_is_set_again() -> None:
    first, second, third = lines("* * * * * a\nX=1\n* * * * * b\nX = 2\n* * * * * c\n")
    assert [dict(line.env) for line in (first, second, third)] == [{}, {"X": "1"}, {"X": "2"}]


@pytest.mark.parametrize(
    ("setting", "name", "value"),
    [
        ("A=b", "A", "b"),
        ("A = b c ", "A", "b c"),
        ("A=", "A", ""),
        ('A=""', "A", ""),
        ("A=' b '", "A", " b "),
        ("'A B' = c", "A B", "c"),
        ("A=b'c", "A", "b'c"),
        ("A=$HOME/x", "A", "$HOME/x"),
        ("A=b=c", "A", "b=c"),
        ("A=b # c", "A", "b # c"),
    ],
)
def test_settings_are_read_as_cron_reads_them(setting: str, name: str, value: str) -> None:
    assert dict(one(f"{setting}\n* * * * * x\n").env) == {name: value}


def test_a_setting_with_an_open_quote_is_refused() -> None:
    assert "must close it" in fault('A="b\n')


def test_logname_cannot_be_set() -> None:
    found = read("LOGNAME=mallory\n* * * * * x\n", system=False)
    assert dict(found.lines[0].env) == {}
    assert [warning.message for warning in found.warnings] == [
        "LOGNAME cannot be set; it is that of the user"
    ]


def test_a_zone_holds_until_the_next_and_an_empty_one_ends_it() -> None:
    found = lines("CRON_TZ=Asia/Tokyo\n0 1 * * * a\nCRON_TZ=\n0 2 * * * b\n")
    assert [line.timezone for line in found] == ["Asia/Tokyo", None]


def test_lines_under_an_unknown_zone_are_refused_not_run_in_another() -> None:
    found = read("CRON_TZ=Asia/Tokio\n0 1 * * * a\nCRON_TZ=UTC\n0 2 * * * b\n", system=False)
    assert [line.shell for line in found.lines] == ["b"]
    assert [(fault.number, "Asia/Tokyo" in fault.message) for fault in found.faults] == [
        (1, True),
        (2, False),
    ]
    assert "line 1" in found.faults[1].message


def test_mailto_decides_about_alerts() -> None:
    found = lines('0 1 * * * a\nMAILTO=ops@example.com\n0 2 * * * b\nMAILTO=""\n0 3 * * * c\n')
    assert [line.alert for line in found] == [None, "ops@example.com", "none"]


@pytest.mark.parametrize(
    ("command", "shell", "stdin"),
    [
        ("plain", "plain", None),
        (r"date +\%F", "date +%F", None),
        ("cat%a", "cat", "a\n"),
        ("cat%a%b", "cat", "a\nb\n"),
        ("cat%a%", "cat", "a\n"),
        ("cat%%", "cat", "\n"),
        (r"cat%100\%", "cat", "100%\n"),
        ("cat%", "cat", ""),
        (r"echo a\\b", r"echo a\\b", None),
    ],
)
def test_percent_signs(command: str, shell: str, stdin: str | None) -> None:
    line = one(f"* * * * * {command}\n")
    assert (line.shell, line.stdin) == (shell, stdin)


def test_a_percent_sign_that_cuts_a_quote_open_is_warned_about() -> None:
    assert len(warned('* * * * * date "+%H"\n')) == 1
    assert warned("* * * * * mail -s hi joe%hello\n") == []


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("# tidy up\n* * * * * x\n", "tidy up"),
        ("# one\n#two\n* * * * * x\n", "one\ntwo"),
        ("# far\n\n* * * * * x\n", None),
        ("# of a setting\nA=b\n* * * * * x\n", None),
        ("# m h dom mon dow user command\n* * * * * x\n", None),
        ("# -----\n* * * * * x\n", None),
        ("#0 5 * * * old\n* * * * * x\n", None),
        ("# @daily old\n* * * * * x\n", None),
        ("# 5 things to know\n* * * * * x\n", "5 things to know"),
    ],
)
def test_the_comment_directly_above_describes(text: str, description: str | None) -> None:
    assert one(text).description == description


def test_a_comment_describes_one_line() -> None:
    first, second = lines("# one\n* * * * * a\n* * * * * b\n")
    assert (first.description, second.description) == ("one", None)


def test_a_system_crontab_has_a_user_column() -> None:
    line = one("17 * * * *\twww-data  run x\n", system=True)
    assert (line.user, line.shell) == ("www-data", "run x")
    assert "if 'run' is the command" in fault("17 * * * * run\n", system=True)
    assert "where the user belongs" in fault("17 * * * * /bin/run x\n", system=True)


def test_a_leading_minus_is_no_part_of_the_minute() -> None:
    assert one("-*/5 * * * * quiet\n").schedule == "*/5 * * * *"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@reboot x\n", "1: @reboot has no time"),
        ("@fortnightly x\n", "1: @fortnightly is not known"),
        ("@every 5m x\n", "1: @every is not known"),
        ("61 * * * * x\n", "1: minute '61'"),
        ("* * * x\n", "1: an entry has five time fields"),
        ("\n\n* * * * *\n", "3: there is no command"),
        ("daily 02:00 x y z w\n", "1: 'daily' begins neither"),
        ("every 5 minutes from 2026-12-01T06:00 x\n", "1: 'every' begins neither"),
        ("0~30 * * * * x\n", "1: minute '0~30'"),
        ("0 0 30 2 * x\n", "1: the cron line `0 0 30 2 *` never comes"),
        ("* * * * * a\0b\n", "1: the line holds a NUL byte"),
        ("* * * * * a\udcff\n", "1: the line holds a NUL byte or bytes that are no UTF-8"),
        ("=x\n", "1: '=x' begins neither"),
    ],
)
def test_a_refusal_says_which_line_and_why(text: str, message: str) -> None:
    assert fault(text).startswith(message)


def test_bad_lines_do_not_keep_good_ones_out() -> None:
    found = read("nonsense\n0 1 * * * a\n61 * * * * b\n0 2 * * * c\n", system=False)
    assert [line.shell for line in found.lines] == ["a", "c"]
    assert [fault.number for fault in found.faults] == [1, 3]


def test_windows_line_ends_a_byte_order_mark_and_a_missing_last_end_are_read() -> None:
    found = read("\ufeff0 1 * * * a\r\n0 2 * * * b", system=False)
    assert [line.shell for line in found.lines] == ["a", "b"]
    assert len(found.warnings) == 2


def test_six_fields_are_five_and_a_command_with_a_warning() -> None:
    assert one("0 0 2 * * * x\n").shell == "* x"
    assert "five time fields" in warned("0 0 2 * * * x\n")[0]


CRONLIKE = st.text(alphabet="0123456789*/,-@%\\#='\" \t\nabcLW?~:\r\udcff", max_size=200)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(text=CRONLIKE | st.text(max_size=100), system=st.booleans())
def test_whatever_the_text_each_line_is_accounted_for(text: str, system: bool) -> None:
    found = read(text, system=system)
    numbers = [
        *(line.number for line in found.lines),
        *(fault.number for fault in found.faults),
        *found.settings,
    ]
    given_lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    expected = [
        number
        for number, line in enumerate(given_lines, 1)
        if line.strip(" \t") and not line.strip(" \t").startswith("#")
    ]
    assert sorted(numbers) == expected


@pytest.mark.parametrize("path", debian_files(), ids=lambda path: path.parent.name)
def test_debians_own_crontabs_lose_nothing(path: Path) -> None:
    """Against a reader that shares no code with this one."""
    found = read(path.read_text("utf-8"), system=path not in USER_CRONTABS)
    expected = [line for line in lines_of(path) if line.schedule != "@reboot"]
    told = [(line.number, line.schedule, line.user, line.shell) for line in found.lines]
    assert told == [
        (
            line.number,
            " ".join(line.schedule.split()).lower(),
            line.user,
            line.command.replace("\\%", "%"),
        )
        for line in expected
    ]
    assert all("@reboot" in fault.message for fault in found.faults)
