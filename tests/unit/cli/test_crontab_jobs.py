"""Which job a line is, at the second import and at every later one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from duly.cli.crontab_jobs import Line, Said, body, changes, cron_env, match
from duly.wire.documents import merged

SOURCE = "crontab:/etc/cron.d/shop"


def said(shell: str = "dump", schedule: str = "30 2 * * *", **others: Any) -> Said:
    plain = Said(schedule, "UTC", shell, "root", None, cron_env({}), None, "owner", None)
    return replace(plain, **others)


def line(what: Said, number: int = 1) -> Line:
    return Line("/etc/cron.d/shop", number, SOURCE, f"cron.d-shop/{what.shell.split()[0]}", what)


def lines(*whats: Said) -> list[Line]:
    return [line(what, number) for number, what in enumerate(whats, start=1)]


def job(job_id: int, what: Said, **others: Any) -> dict[str, Any]:
    """The job that the API shows after this line was added."""
    shown = body(line(what), f"cron.d-shop/{what.shell.split()[0]}")
    defaults = {"description": None, "owner": None, "state": "active"}
    return {**defaults, **shown, "id": f"j{job_id}", **others}


def ids(found: Any) -> list[str | None]:
    return [pair.job["id"] if pair.job else None for pair in found.matches]


def test_all_lines_are_new_where_there_are_no_jobs() -> None:
    assert ids(match(lines(said("a"), said("b")), [])) == [None, None]


def test_a_line_is_the_job_that_it_became() -> None:
    found = match(lines(said("a"), said("b")), [job(1, said("b")), job(2, said("a"))])
    assert ids(found) == ["j2", "j1"]
    assert found.gone == ()


def test_two_equal_lines_are_two_jobs_at_the_second_import_too() -> None:
    found = match(lines(said(), said()), [job(1, said()), job(2, said())])
    assert ids(found) == ["j1", "j2"]


def test_a_third_equal_line_is_a_new_job() -> None:
    assert ids(match(lines(said(), said(), said()), [job(1, said()), job(2, said())])) == [
        "j1",
        "j2",
        None,
    ]


def test_of_two_equal_jobs_one_is_gone_with_its_line() -> None:
    found = match(lines(said()), [job(1, said()), job(2, said())])
    assert ids(found) == ["j1"]
    assert [left["id"] for left in found.gone] == ["j2"]


def test_an_equal_line_is_found_before_one_that_only_looks_like_it() -> None:
    early, late = said(schedule="0 1 * * *"), said(schedule="0 5 * * *")
    new = said(schedule="0 3 * * *")
    found = match(lines(new, late), [job(1, late), job(2, early)])
    assert ids(found) == ["j2", "j1"]


def test_a_line_whose_times_changed_stays_its_job() -> None:
    found = match(lines(said(schedule="0 4 * * *")), [job(1, said())])
    assert ids(found) == ["j1"]
    assert changes(found.matches[0].line, job(1, said())) == {"schedule": "0 4 * * *"}


def test_a_line_whose_command_changed_stays_its_job_by_name() -> None:
    found = match(lines(said("dump --all")), [job(7, said("dump"))])
    assert ids(found) == ["j7"]


def test_a_line_with_another_user_and_another_program_is_a_new_job() -> None:
    found = match(lines(said("other", user="bob")), [job(1, said())])
    assert ids(found) == [None]
    assert [left["id"] for left in found.gone] == ["j1"]


def test_jobs_pair_in_the_order_of_their_numbers_not_of_their_text() -> None:
    assert ids(match(lines(said(), said()), [job(10, said()), job(9, said())])) == ["j9", "j10"]


def test_an_equal_line_changes_nothing() -> None:
    assert changes(line(said()), job(1, said())) == {}


def test_what_the_crontab_does_not_say_stays_as_someone_edited_it() -> None:
    edited = job(
        1, said(), timeout="5m", overlap="skip", retry="never", owner="ops", state="paused"
    )
    assert changes(line(said()), edited) == {}


def test_a_changed_environment_names_the_variables_that_go() -> None:
    before = job(1, said(env={"SHELL": "/bin/sh", "OLD": "1"}))
    patch = changes(line(said(env={"SHELL": "/bin/bash", "NEW": "2"})), before)
    assert patch == {"command": {"env": {"SHELL": "/bin/bash", "NEW": "2", "OLD": None}}}


def test_a_comment_that_went_takes_the_description_along() -> None:
    assert changes(line(said()), job(1, said(description="old"))) == {"description": None}


def test_mailto_becomes_the_owner() -> None:
    assert changes(line(said(owner="me@example.com")), job(1, said())) == {
        "owner": "me@example.com"
    }


def test_a_new_job_behaves_as_under_cron() -> None:
    assert body(line(said(stdin="x\n")), "n") == {
        "name": "n",
        "schedule": "30 2 * * *",
        "timezone": "UTC",
        "command": {
            "shell": "dump",
            "env": {"SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"},
            "stdin": "x\n",
            "user": "root",
        },
        "alert": "owner",
        "source": SOURCE,
        "overlap": "allow",
        "missed": "skip",
        "retry": {"tries": 1},
        "timeout": "7d",
    }


def test_what_a_crontab_sets_replaces_what_cron_gives() -> None:
    assert cron_env({"PATH": "/opt/bin", "A": "1"}) == {
        "SHELL": "/bin/sh",
        "PATH": "/opt/bin",
        "A": "1",
    }


saids = st.builds(
    said,
    shell=st.sampled_from(["a", "a -x", "b", "c"]),
    schedule=st.sampled_from(["0 1 * * *", "0 2 * * *"]),
    user=st.sampled_from([None, "root"]),
    stdin=st.sampled_from([None, "x\n"]),
    timezone=st.sampled_from(["UTC", "Asia/Tokyo"]),
    env=st.dictionaries(st.sampled_from(["A", "B"]), st.sampled_from(["1", "2"])),
    description=st.sampled_from([None, "why"]),
    alert=st.sampled_from(["owner", "none"]),
)


@given(st.lists(saids, max_size=6), st.lists(saids, max_size=6))
def test_after_an_import_the_next_one_finds_nothing_to_do(
    before: list[Said], after: list[Said]
) -> None:
    jobs = {f"j{number}": job(number, what) for number, what in enumerate(before, start=1)}
    first = match(lines(*after), list(jobs.values()))
    for gone in first.gone:
        del jobs[gone["id"]]
    for number, pair in enumerate(first.matches, start=100):
        if pair.job is None:
            jobs[f"j{number}"] = job(number, pair.line.said)
        else:
            jobs[pair.job["id"]] = {
                "description": None,
                **merged(pair.job, changes(pair.line, pair.job)),
            }
    assert len(jobs) == len(after)

    second = match(lines(*after), list(jobs.values()))

    assert second.gone == ()
    assert [pair.job and changes(pair.line, pair.job) for pair in second.matches] == [{}] * len(
        after
    )
