"""Exit codes, and how an error is told: in words or as a problem document, without a traceback."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import typer

from duly.cli.printable import lines_safe
from duly.errors import (
    DulyError,
    InvalidConfig,
    InvalidJob,
    InvalidSchedule,
    NameTaken,
    NoSuchJob,
    NoSuchRun,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


class Exit(IntEnum):
    """What the process's exit status says. Listed in `duly --help`."""

    OK = 0
    FAILED = 1
    INVALID = 2
    NOT_FOUND = 3
    CONFLICT = 4
    UNAUTHORIZED = 5
    UNREACHABLE = 6


MEANINGS = {
    Exit.OK: "done",
    Exit.FAILED: "the operation failed (a run that was waited for, a line not imported)",
    Exit.INVALID: "usage or input not valid, an unreadable schedule included",
    Exit.NOT_FOUND: "no such job or run",
    Exit.CONFLICT: "in conflict with what is there (name taken, run already over)",
    Exit.UNAUTHORIZED: "token missing or wrong",
    Exit.UNREACHABLE: "no server answers, or it cannot at present",
}


class InvalidInput(DulyError):
    """What was typed cannot be used."""


class TokenMissing(DulyError):
    """There is no token; start Duly once with `duly up`, or set DULY_TOKEN."""


class TokenRefused(DulyError):
    """The server does not accept the token."""


@contextmanager
def told(*, as_json: bool = False) -> Iterator[None]:
    """Errors that Duly raises on purpose end the command: told on standard error, exit code set."""
    try:
        yield
    except DulyError as error:
        tell(error, as_json=as_json)
        raise typer.Exit(exit_for(error)) from error


def tell(error: DulyError, *, as_json: bool = False) -> None:
    """Print the error on standard error."""
    if as_json:
        sys.stderr.write(json.dumps(problem_for(error)) + "\n")
    else:
        sys.stderr.write(f"duly: {lines_safe(str(error))}\n")


def exit_for(error: DulyError) -> Exit:
    """The exit code that says what kind of error it was."""
    # The SDK brings the HTTP library along, so it is looked at by the attributes it promises.
    match error:
        case InvalidSchedule() | InvalidJob() | InvalidConfig() | InvalidInput():
            return Exit.INVALID
        case NoSuchJob() | NoSuchRun():
            return Exit.NOT_FOUND
        case NameTaken():
            return Exit.CONFLICT
        case TokenMissing() | TokenRefused():
            return Exit.UNAUTHORIZED
    status = getattr(error, "status", None)
    if isinstance(status, int):
        return exit_for_status(status)
    return Exit.UNREACHABLE if hasattr(error, "url") else Exit.FAILED


def exit_for_status(status: int) -> Exit:
    """The exit code for a refusal with this HTTP status."""
    match status:
        case 401 | 403:
            return Exit.UNAUTHORIZED
        case 404 | 410:
            return Exit.NOT_FOUND
        case 409 | 412:
            return Exit.CONFLICT
        case 429 | 502 | 503 | 504:
            return Exit.UNREACHABLE
        case _ if 400 <= status < 500:
            return Exit.INVALID
        case _:
            return Exit.FAILED


def problem_for(error: DulyError) -> dict[str, Any]:
    """The error as a problem document (RFC 9457); the API's own where it sent one."""
    problem = getattr(error, "problem", None)
    if isinstance(problem, dict):
        return problem
    document: dict[str, Any] = {
        "type": "about:blank",
        "title": MEANINGS[exit_for(error)],
        "detail": str(error),
    }
    if isinstance(error, InvalidSchedule):
        document["title"] = "the schedule cannot be used"
        document["errors"] = [{"pointer": "/schedule", "detail": str(error)}]
    return document
