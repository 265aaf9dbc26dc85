"""Names of imported jobs."""

from __future__ import annotations

import pytest

from duly.cli.crontab_names import base_name, free_name, without_number


@pytest.mark.parametrize(
    ("shell", "expected"),
    [
        ("command -v debian-sa1 > /dev/null && debian-sa1 1 1", "debian-sa1"),
        ("/usr/local/bin/dump shop", "dump"),
        ("cd / && run-parts --report /etc/cron.hourly", "cron.hourly"),
        (
            "test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.daily )",
            "cron.daily",
        ),
        ("[ -x /usr/lib/php/sessionclean ] && /usr/lib/php/sessionclean", "sessionclean"),
        ("if [ -x /usr/bin/mdadm ]; then /usr/share/mdadm/checkarray --cron; fi", "checkarray"),
        ('/bin/bash -l -c "python3 s.py --output-file=/opt/o.json"', "s.py"),
        ("LANG=C nice -n 19 /opt/report.sh", "report.sh"),
        ("timeout 5m chronic backup", "backup"),
        ("bash", "bash"),
        ("true", "true"),
        ("日本語", "job"),
        ("'quoted program' x", "quoted"),
    ],
)
def test_a_job_is_named_after_the_program_that_matters(shell: str, expected: str) -> None:
    assert base_name("cron.d-x", shell) == f"cron.d-x/{expected}"


def test_a_name_stays_within_what_a_job_may_have() -> None:
    assert len(free_name(base_name("f" * 500, "c" * 500), set())) <= 190


def test_a_second_equal_name_gets_a_number() -> None:
    assert free_name("a/b", {"a/b"}) == "a/b~2"
    assert free_name("a/b", {"a/b", "a/b~2"}) == "a/b~3"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a/b~2", "a/b"), ("a/b~10", "a/b"), ("a/b", "a/b"), ("a/b~1", "a/b~1"), ("a~2/b", "a~2/b")],
)
def test_the_number_comes_off_again(name: str, expected: str) -> None:
    assert without_number(name) == expected
