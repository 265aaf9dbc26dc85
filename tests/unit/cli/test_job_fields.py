"""From options to request bodies."""

from __future__ import annotations

from typing import Any

import pytest

from duly.cli.exits import InvalidInput
from duly.cli.job_fields import Changes, NewJob, add_body, edit_body
from duly.errors import UnknownZone
from duly.wire.documents import merged

SHELL: dict[str, Any] = {"shell": "x"}
KNOWN: dict[str, Any] = {
    "timezone": "Europe/Amsterdam",
    "command": {"exec": ["prog", "-x"], "env": {"A": "1"}, "cwd": "/srv"},
}


def command_after(**options: Any) -> Any:
    patch = edit_body(Changes(**options), KNOWN)
    return merged(KNOWN, patch)["command"]


def test_only_what_was_given_is_sent() -> None:
    body = add_body(NewJob(name="n", schedule="daily 02:00", **SHELL))
    assert body == {"name": "n", "schedule": "daily 02:00", "command": {"shell": "x"}}


def test_a_program_goes_with_its_arguments_and_surroundings() -> None:
    options = NewJob(
        schedule="@daily", argv=["prog", "--flag", ""], cwd="/srv", env=["A=1", "B=x=y"], user="bob"
    )
    assert add_body(options)["command"] == {
        "exec": ["prog", "--flag", ""],
        "cwd": "/srv",
        "env": {"A": "1", "B": "x=y"},
        "user": "bob",
    }


def test_a_named_command_is_sent_as_its_name() -> None:
    assert add_body(NewJob(schedule="@daily", command="report"))["command"] == "report"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "what shall run"),
        ({"shell": "a", "command": "b"}, "only one of"),
        ({"shell": "a", "env": ["A"]}, "--env 'A' is no setting"),
        ({"shell": "a", "input": "{"}, "--input is no JSON"),
        ({"shell": "a", "retry": "often"}, "--retry 'often'"),
        ({"shell": "a", "starts": "soon"}, "--starts 'soon' is no instant"),
    ],
)
def test_what_cannot_be_right_is_refused_before_it_is_sent(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        add_body(NewJob(schedule="@daily", **options))


def test_a_bound_in_a_zone_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(UnknownZone, match="Europe/Berlin"):
        add_body(NewJob(schedule="@daily", **SHELL, starts="2026-01-01", tz="Europe/Berln"))


def test_numbers_of_seconds_and_of_tries_are_sent_as_numbers() -> None:
    body = add_body(
        NewJob(schedule="@daily", **SHELL, timeout="90", jitter="5m", retry="3", input="[1]")
    )
    assert (body["timeout"], body["jitter"], body["retry"], body["input"]) == (
        90,
        "5m",
        {"tries": 3},
        [1],
    )


def test_a_bound_without_an_offset_is_wall_time_of_the_jobs_zone() -> None:
    body = add_body(NewJob(schedule="@daily", **SHELL, tz="Asia/Tokyo", starts="2026-12-01T09:00"))
    assert body["starts_at"] == "2026-12-01T00:00:00Z"
    assert edit_body(Changes(ends="2026-12-01T09:00"), KNOWN) == {"ends_at": "2026-12-01T08:00:00Z"}


def test_an_edit_sends_nothing_that_was_not_given() -> None:
    assert edit_body(Changes(schedule="hourly"), KNOWN) == {"schedule": "hourly"}


def test_an_edit_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="nothing to change"):
        edit_body(Changes(), KNOWN)


def test_another_command_keeps_its_surroundings() -> None:
    assert command_after(**SHELL) == {"shell": "x", "env": {"A": "1"}, "cwd": "/srv"}


def test_a_named_command_leaves_the_old_surroundings_behind() -> None:
    assert command_after(command="report") == "report"


def test_env_is_added_to_what_is_there() -> None:
    assert command_after(env=["B=2"])["env"] == {"A": "1", "B": "2"}


def test_cleared_env_leaves_only_what_is_given() -> None:
    assert command_after(env=["B=2"], clear=["env"])["env"] == {"B": "2"}


def test_cleared_parts_go() -> None:
    assert command_after(clear=["env", "cwd"]) == {"exec": ["prog", "-x"]}
    assert edit_body(Changes(clear=["starts", "owner"]), KNOWN) == {
        "starts_at": None,
        "owner": None,
    }


def test_what_cannot_be_cleared_is_told_with_what_can() -> None:
    with pytest.raises(InvalidInput, match="only these can be: name, description"):
        edit_body(Changes(clear=["schedule"]), KNOWN)
