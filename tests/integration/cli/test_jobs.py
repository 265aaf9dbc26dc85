"""`duly jobs` against a real API."""

from __future__ import annotations

from tests.integration.cli.conftest import Duly

ADD = ("jobs", "add", "--name", "report", "--schedule", "daily 02:00")


def test_a_job_is_added_with_its_next_run_in_words(duly: Duly) -> None:
    answer = duly(*ADD, "--tz", "Europe/Amsterdam", "--shell", "make report")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.text.splitlines()
    assert lines[0].split() == ["id", "j1"]
    assert any(line.startswith("in words") and "02:00" in line for line in lines)
    assert any(line.startswith("next run") and " (in " in line for line in lines)


def test_json_is_the_apis_own_document(duly: Duly) -> None:
    job = duly(*ADD, "--shell", "x", "--json").json
    assert job == duly("jobs", "show", "report", "--json").json
    assert (job["id"], job["command"], job["state"]) == ("j1", {"shell": "x"}, "active")


def test_a_program_after_two_dashes_keeps_its_own_options(duly: Duly) -> None:
    job = duly(*ADD, "--json", "--", "prog", "--name", "x", "-v", "--json").json
    assert job["command"] == {"exec": ["prog", "--name", "x", "-v", "--json"]}
    assert job["name"] == "report"


def test_every_option_reaches_the_job(duly: Duly) -> None:
    options = {
        "--tz": "Asia/Tokyo",
        "--gap": "skip",
        "--repeat": "both",
        "--shell": "cat",
        "--cwd": "/srv",
        "--env": "A=1",
        "--user": "bob",
        "--input": '{"a": [1]}',
        "--jitter": "5m",
        "--overlap": "allow",
        "--missed": "catch_up",
        "--retry": "2",
        "--timeout": "90",
        "--queue": "slow",
        "--priority": "3",
        "--owner": "ops@example.com",
        "--alert": "none",
        "--description": "why",
        "--starts": "2030-01-01T09:00",
        "--ends": "2031-01-01T00:00Z",
    }
    answer = duly(*ADD, "--json", *(word for option in options.items() for word in option))
    assert answer.code == 0, answer.err
    job = answer.json
    assert job["command"] == {"shell": "cat", "cwd": "/srv", "env": {"A": "1"}, "user": "bob"}
    assert job["starts_at"] == "2030-01-01T00:00:00Z"
    assert (job["retry"]["tries"], job["missed"]["policy"], job["timeout"]) == (
        2,
        "catch_up",
        "1m30s",
    )
    assert (job["gap"], job["repeat"], job["input"]) == ("skip", "both", {"a": [1]})
    assert (job["queue"], job["priority"], job["alert"]) == ("slow", 3, "none")


def test_the_same_request_again_is_the_same_job(duly: Duly) -> None:
    first, second = (duly(*ADD, "--shell", "x", "--json").json for _ in range(2))
    assert first["id"] == second["id"]


def test_an_edit_changes_what_is_named_and_nothing_else(duly: Duly) -> None:
    before = duly(*ADD, "--json", "--cwd", "/srv", "--env", "A=1", "--", "prog").json
    after = duly("jobs", "edit", "report", "--shell", "make", "--timeout", "2h", "--json").json
    changed = {key for key in before if before[key] != after[key]} - {"version", "updated"}
    assert changed == {"command", "timeout"}
    assert after["command"] == {"shell": "make", "cwd": "/srv", "env": {"A": "1"}}


def test_a_field_can_be_cleared(duly: Duly) -> None:
    duly(*ADD, "--shell", "x", "--owner", "ops", "--cwd", "/srv")
    after = duly("jobs", "edit", "j1", "--clear", "owner", "--clear", "cwd", "--json").json
    assert (after["owner"], after["command"]) == (None, {"shell": "x"})


def test_pause_resume_and_rm_take_id_or_name(duly: Duly) -> None:
    duly(*ADD, "--shell", "x")
    assert duly("jobs", "pause", "report", "--json").json["state"] == "paused"
    assert duly("jobs", "resume", "j1", "--json").json["state"] == "active"
    assert duly("jobs", "rm", "report").code == 0
    assert duly("jobs", "show", "j1").code == 3
    assert duly("jobs", "list", "--json").json == []


def test_a_list_shows_a_job_a_line_and_filters(duly: Duly) -> None:
    for name in ("a", "b", "c"):
        duly(
            "jobs", "add", "--name", name, "--schedule", "hourly", "--shell", name, "--queue", name
        )
    lines = duly("jobs", "list").text.splitlines()
    assert lines[0].split()[:3] == ["ID", "NAME", "STATE"]
    assert [line.split()[1] for line in lines[1:]] == ["a", "b", "c"]
    assert [job["name"] for job in duly("jobs", "list", "--queue", "b", "--json").json] == ["b"]


def test_a_list_that_ends_early_says_so(duly: Duly) -> None:
    for name in ("a", "b", "c"):
        duly("jobs", "add", "--name", name, "--schedule", "hourly", "--shell", name)
    answer = duly("jobs", "list", "--limit", "2", "--json")
    assert [job["name"] for job in answer.json] == ["a", "b"]
    assert "the first 2 of more; --limit 0 shows all" in answer.err


def test_hostile_names_neither_style_nor_steer_the_terminal(duly: Duly) -> None:
    duly("jobs", "add", "--schedule", "hourly", "--shell", "\x1b[2J[red]x[/red]", "--name", "[b]n")
    out = duly("jobs", "list").text
    assert "[b]n" in out
    assert "␛[2J[red]x[/red]" in out
    assert "\x1b" not in out


def test_what_the_api_refuses_is_told_with_its_place(duly: Duly) -> None:
    answer = duly(*ADD, "--shell", "x", "--timeout", "1000d")
    assert (answer.code, answer.out) == (2, b"")
    assert "/timeout" in answer.err
    assert "Traceback" not in answer.err


def test_a_schedule_that_cannot_be_read_is_invalid_input(duly: Duly) -> None:
    answer = duly("jobs", "add", "--schedule", "61 * * * *", "--shell", "x", "--json")
    assert answer.code == 2
    assert '"pointer": "/schedule"' in answer.err


def test_a_name_that_is_taken_is_a_conflict(duly: Duly) -> None:
    duly(*ADD, "--shell", "x")
    answer = duly(*ADD, "--shell", "y")
    assert answer.code == 4
    assert "j1" in answer.err


def test_a_job_that_is_not_there_is_not_found(duly: Duly) -> None:
    for job in ("j99", "nobody"):
        answer = duly("jobs", "show", job)
        assert answer.code == 3
        assert job in answer.err


def test_a_run_can_be_started_shown_and_canceled(duly: Duly) -> None:
    duly(*ADD, "--shell", "x")
    run = duly("jobs", "run", "report", "--json").json
    assert run["status"] == "queued"
    assert [row["id"] for row in duly("runs", "list", "report", "--json").json] == [run["id"]]
    assert duly("runs", "show", run["id"], "--json").json["tries"] == []
    assert duly("runs", "cancel", run["id"], "--json").json["status"] == "canceled"
    assert duly("runs", "cancel", run["id"]).code == 4
    assert duly("runs", "list", "--since", "1h", "--status", "queued", "--json").json == []
    assert run["id"] in duly("runs", "list", "--since", "1h").text


def test_show_tells_everything_in_the_order_in_which_people_ask(duly: Duly) -> None:
    duly(*ADD, "--owner", "ops", "--cwd", "/srv", "--stdin-text", "a\nb", "--", "prog", "-x")
    facts = dict(
        line.split(maxsplit=1) for line in duly("jobs", "show", "j1", "--utc").text.splitlines()
    )
    assert list(facts)[:4] == ["id", "name", "state", "schedule"]
    assert (facts["command"], facts["cwd"], facts["stdin"]) == ("prog -x", "/srv", "a␊b")
    assert facts["owner"] == "ops"
    assert facts["created"].endswith(" UTC")
    assert duly("jobs", "show", "j1").text.count("created") == 1


def test_a_long_command_is_cut_in_a_list_and_whole_when_shown(duly: Duly) -> None:
    duly(*ADD, "--shell", "x" * 200)
    assert f"{'x' * 59}…" in duly("jobs", "list").text
    assert "x" * 200 in duly("jobs", "show", "report").text
    duly("jobs", "add", "--schedule", "hourly", "--command", "nightly")
    assert "nightly" in duly("jobs", "list").text
