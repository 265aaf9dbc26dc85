"""Errors become exit codes and one message each."""

from __future__ import annotations

import json

import pytest
import typer

from duly.cli.exits import Exit, InvalidInput, TokenMissing, exit_for, exit_for_status, told
from duly.errors import DulyError, InvalidSchedule, NoSuchJob, UnknownZone
from duly.sdk.errors import ApiError, NotDuly, ServerUnreachable


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (InvalidInput("x"), Exit.INVALID),
        (InvalidSchedule("x"), Exit.INVALID),
        (UnknownZone("x"), Exit.INVALID),
        (NoSuchJob(), Exit.NOT_FOUND),
        (TokenMissing(), Exit.UNAUTHORIZED),
        (ServerUnreachable("http://x", "refused"), Exit.UNREACHABLE),
        (NotDuly("http://x", "no JSON"), Exit.UNREACHABLE),
        (ApiError(422, {}), Exit.INVALID),
        (ApiError(503, {}), Exit.UNREACHABLE),
        (DulyError(), Exit.FAILED),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: DulyError, expected: Exit) -> None:
    assert exit_for(error) is expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, Exit.INVALID),
        (401, Exit.UNAUTHORIZED),
        (403, Exit.UNAUTHORIZED),
        (404, Exit.NOT_FOUND),
        (409, Exit.CONFLICT),
        (422, Exit.INVALID),
        (429, Exit.UNREACHABLE),
        (500, Exit.FAILED),
        (503, Exit.UNREACHABLE),
    ],
)
def test_each_refusal_has_its_exit_code(status: int, expected: Exit) -> None:
    assert exit_for_status(status) is expected


def test_an_error_is_told_in_words_without_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(typer.Exit), told():
        raise InvalidInput("no\x1b[2J job")
    assert capsys.readouterr().err == "duly: no␛[2J job\n"


def test_with_json_an_error_is_a_problem_document(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), told(as_json=True):
        raise InvalidSchedule("the minute 61 is above 59", field="minute", part="61")
    document = json.loads(capsys.readouterr().err)
    assert document["detail"] == "the minute 61 is above 59"
    assert document["errors"] == [{"pointer": "/schedule", "detail": "the minute 61 is above 59"}]


def test_with_json_the_apis_own_document_is_told_as_it_came(
    capsys: pytest.CaptureFixture[str],
) -> None:
    problem = {"title": "Conflict", "status": 409, "detail": "taken", "more": 1}
    with pytest.raises(typer.Exit), told(as_json=True):
        raise ApiError(409, problem)
    assert json.loads(capsys.readouterr().err) == problem


def test_each_fault_of_a_request_is_told_with_its_place() -> None:
    errors = [{"pointer": "/timeout", "detail": "too long"}, {"pointer": "", "detail": "odd"}]
    error = ApiError(422, {"detail": "the job is not valid", "errors": errors})
    assert str(error) == "the job is not valid\n  /timeout: too long\n  /: odd"
