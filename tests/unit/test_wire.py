"""The JSON shapes: what is read, what is shown, and that the two fit together."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duly.errors import InvalidJob
from duly.job import Command, Job, JobSpec, JobState, Missed, MissedPolicy, Overlap, Retry
from duly.wire import (
    InvalidBody,
    fingerprint,
    job_document,
    patched,
    read_duration,
    read_job,
    read_json,
    read_moment,
    show_duration,
    show_moment,
    write_json,
)

NOW = datetime(2026, 10, 24, 2, tzinfo=UTC)
PLAIN = {"schedule": "every 5 minutes", "command": {"shell": "true"}}


def job(spec: JobSpec) -> Job:
    return Job(
        id=7,
        team="default",
        spec=spec,
        state=JobState.ACTIVE,
        jitter_offset=timedelta(0),
        next_run_at=NOW,
        schedule_version=1,
        version=1,
        created_at=NOW,
        updated_at=NOW,
        changed_at=NOW,
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10m", 600),
        ("30s", 30),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("250ms", 0.25),
        ("2d", 172800),
        ("0s", 0),
        ("1.5h", 5400),
        ("0.1s", 0.1),
        ("1d2h3m4s5ms", 93784.005),
        (90, 90),
        (0.5, 0.5),
        (0, 0),
    ],
)
def test_a_duration_is_text_or_seconds(text: Any, seconds: float) -> None:
    assert read_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "5",
        "m",
        "5 m",
        "5M",
        "-5m",
        -1,
        "5m10h",
        "5m5m",
        "5min",
        "1e3s",
        "5m ",
        "\u0665m",
        "9999999999999d",
        "999999999999d",
        "1" * 100_000 + "s",
        True,
        False,
        None,
        [],
        {},
        float("nan"),
        float("inf"),
        1e300,
        10**400,
    ],
)
def test_what_is_no_duration_is_told_with_one_that_is(value: Any) -> None:
    with pytest.raises(InvalidJob, match=r"1h30m|too long"):
        read_duration(value)


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=10_000)))
def test_a_duration_is_read_as_it_is_shown(length: timedelta) -> None:
    assert read_duration(show_duration(length)) == length


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-10-24T02:00:00Z", "2026-10-24T02:00:00Z"),
        ("2026-10-24t02:00z", "2026-10-24T02:00:00Z"),
        ("2026-10-24 04:00:00+02:00", "2026-10-24T02:00:00Z"),
        ("2026-10-24T02:00:00.500Z", "2026-10-24T02:00:00.5Z"),
        ("2026-10-24T02:00:00.000001Z", "2026-10-24T02:00:00.000001Z"),
        ("2026-10-24T02:00:00.000Z", "2026-10-24T02:00:00Z"),
    ],
)
def test_a_moment_is_shown_in_utc_without_needless_digits(text: str, shown: str) -> None:
    assert show_moment(read_moment(text)) == shown


@pytest.mark.parametrize(
    "value",
    [
        "2026-10-24T02:00:00",
        "2026-10-24",
        "20261024T020000Z",
        "2026-W43-6T02:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-10-24T24:00:01Z",
        "2026-10-24T23:59:60Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "2026-10-24T02:00:00+99:00",
        "now",
        "",
        5,
        None,
        True,
    ],
)
def test_what_is_no_moment_is_told(value: Any) -> None:
    with pytest.raises(InvalidJob, match="offset"):
        read_moment(value)


def test_a_blank_where_a_plus_was_is_explained() -> None:
    with pytest.raises(InvalidJob, match="%2B"):
        read_moment("2026-10-24T02:00:00 02:00")


@given(
    st.datetimes(
        min_value=datetime(1970, 1, 1),  # noqa: DTZ001
        timezones=st.just(UTC) | st.just(timezone(timedelta(hours=5, minutes=30))),
    ).filter(lambda moment: moment.year < 9999)
)
def test_a_moment_is_read_as_it_is_shown(moment: datetime) -> None:
    assert read_moment(show_moment(moment)) == moment


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_json_is_read_as_it_is_written(value: Any) -> None:
    assert read_json(write_json(value)) == value
    assert fingerprint(read_json(write_json(value))) == fingerprint(value)


def test_a_fingerprint_does_not_see_order_or_spacing() -> None:
    one, two = b'{"a": 1, "b": [1, 2]}', b'{"b":[1,2],"a":1}'
    assert fingerprint(read_json(one)) == fingerprint(read_json(two))
    assert fingerprint(read_json(b'{"b": [2, 1], "a": 1}')) != fingerprint(read_json(one))
    assert fingerprint(1) != fingerprint("1")


def test_a_surrogate_of_the_operating_system_is_written_as_an_escape() -> None:
    assert json.loads(write_json({"reason": "file \udcff"})) == {"reason": "file \udcff"}


SPECS = [
    JobSpec("every 5 minutes", Command(shell="true")),
    JobSpec(
        "daily 02:00", Command(name="backup"), timezone="Europe/Amsterdam", retry=Retry.never()
    ),
    JobSpec(
        "daily 02:00",
        Command(exec=("a", ""), cwd="/", env=(("A", "1"),), user="u"),
        name="n",
        input='{"a":[1,null]}',
        jitter=timedelta(milliseconds=1500),
        overlap=Overlap.ALLOW,
        missed=Missed(MissedPolicy.CATCH_UP, timedelta(0), timedelta(days=366)),
        retry=Retry(2, timedelta(seconds=1), timedelta(seconds=2)),
        timeout=timedelta(hours=1, milliseconds=1),
        queue="q",
        priority=0,
        owner="o",
        description="",
        alert="none",
        starts_at=NOW,
        ends_at=NOW + timedelta(days=400, microseconds=1),
        source="s",
    ),
]
SHOWN_ONLY = {"id", "in_words", "state", "next_run", "version", "created", "updated", "warnings"}


@pytest.mark.parametrize("spec", SPECS)
def test_what_is_shown_of_a_job_can_be_sent_back(spec: JobSpec) -> None:
    shown = json.loads(write_json(job_document(job(spec), now=NOW)))
    body = {key: value for key, value in shown.items() if key not in SHOWN_ONLY}
    assert read_job(body) == spec
    assert patched(spec, body) == spec


@pytest.mark.parametrize("spec", SPECS)
def test_an_empty_patch_changes_nothing(spec: JobSpec) -> None:
    assert patched(spec, {}) is not None
    assert patched(spec, {}) == spec


def test_a_longer_first_wait_lifts_the_usual_cap() -> None:
    retry = read_job(PLAIN | {"retry": {"backoff": "2h"}}).retry
    assert (retry.backoff, retry.cap) == (timedelta(hours=2), timedelta(hours=2))


def test_a_schedule_is_told_wrong_together_with_its_zone() -> None:
    with pytest.raises(InvalidBody) as caught:
        read_job(PLAIN | {"schedule": "evry day", "timezone": "Mars", "priority": 10})
    assert [f.pointer for f in caught.value.faults] == ["/priority", "/timezone", "/schedule"]
    assert str(caught.value).startswith("/priority: ")


def test_a_stored_schedule_that_cannot_be_read_any_more_is_shown_with_a_warning() -> None:
    spec = JobSpec("every blue moon", Command(shell="true"))
    document = job_document(job(spec), now=NOW - timedelta(hours=1))
    assert document["in_words"] is None
    assert document["next_run"] == "2026-10-24T02:00:00Z"
    assert len(document["warnings"]) == 1


@pytest.mark.parametrize("state", [JobState.PAUSED, JobState.ENDED])
def test_only_an_active_job_is_overdue(state: JobState) -> None:
    late = replace(job(SPECS[0]), state=state, next_run_at=None)
    assert "overdue_s" not in job_document(late, now=NOW + timedelta(days=1))
    document = job_document(job(SPECS[0]), now=NOW + timedelta(days=1), term=3)
    assert document["overdue_s"] == 86400
    assert "no scheduler has planned it yet" in document["overdue_reason"]
