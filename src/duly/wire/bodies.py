"""The bodies that describe a job, checked field by field; pydantic stands at this edge alone.

Types are strict (a number is no string, `true` is no number), unknown fields are refused, limits
are named in the refusal. What concerns several fields at once is `requests`' business. They are
dictionaries, not models: what is not given need not be filled in, which takes a fifth of the time.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainValidator,
    Tag,
    WithJsonSchema,
    with_config,
)
from pydantic.config import JsonDict
from pydantic_core import CoreSchema, PydanticCustomError, core_schema
from typing_extensions import TypedDict

from duly.errors import InvalidJob
from duly.wire.durations import read_duration, read_moment, show_duration

NAMED_COMMAND = r"^[A-Za-z0-9._-]+$"
# Linux hands no single argument longer than this to a program (MAX_ARG_STRLEN, NUL included).
_ARGUMENT_BYTES = 128 * 1024 - 1
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2999, 12, 31, 23, 59, 59, tzinfo=UTC)


def _fault(message: str) -> PydanticCustomError:
    # The message may hold braces; as a value of the template they stay what they are.
    return PydanticCustomError("told", "{told}", {"told": message})


def _clean(text: str) -> str:
    """One line without control characters, as lists and logs show it."""
    # What is printable holds none; the question costs a tenth of the look at each character.
    if not text.isprintable() and any(ord(char) < 32 or ord(char) == 127 for char in text):
        raise _fault("must not hold control characters (line breaks, tabs, NUL)")
    if text != text.strip():
        raise _fault("must not begin or end with a blank")
    return text


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise _fault("must not hold a NUL byte")
    return text


def _argument(text: str) -> str:
    _without_nul(text)
    if len(text) * 4 > _ARGUMENT_BYTES and len(text.encode()) > _ARGUMENT_BYTES:
        raise _fault(f"must have at most {_ARGUMENT_BYTES} bytes: Linux takes no longer argument")
    return text


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise _fault(f'must be an absolute path like "/srv/reports", not "{path[:100]}"')
    return path


def _variable(name: str) -> str:
    if not name or "=" in name or "\0" in name:
        raise _fault("a variable's name must not be empty and must not hold = or NUL")
    return name


def _program(argv: list[str]) -> list[str]:
    if not argv[0]:
        raise _fault("the first item is the program; it must not be empty")
    return argv


def _command_name(name: str) -> str:
    if not re.fullmatch(NAMED_COMMAND, name, re.ASCII):
        raise _fault(
            "a text names a command of the worker (letters, digits and . _ -); write a program as "
            '{"exec": ["program", "argument"]} and a shell line as {"shell": "text"}'
        )
    return name


def _queue_name(name: str) -> str:
    if not re.fullmatch(NAMED_COMMAND, name, re.ASCII):
        raise _fault("may have letters, digits and . _ - alone")
    return name


@dataclass(frozen=True, slots=True)
class _Within:
    """Marks a field that holds a duration within bounds, read in any of its forms."""

    least: timedelta
    most: timedelta

    def check(self, value: object) -> timedelta:
        try:
            length = read_duration(value)
        except InvalidJob as error:
            raise _fault(str(error)) from error
        if not self.least <= length <= self.most:
            least, most = show_duration(self.least), show_duration(self.most)
            raise _fault(f"must be between {least} and {most}, not {show_duration(length)}")
        return length

    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        least_s, most_s = self.least.total_seconds(), self.most.total_seconds()
        return {
            "anyOf": [
                {"type": "string", "pattern": r"^([0-9]+(\.[0-9]+)?(ms|[dhms]))+$"},
                {"type": "number", "minimum": least_s, "maximum": most_s},
            ],
            "description": (
                f"{show_duration(self.least)} to {show_duration(self.most)}; a number is seconds"
            ),
            "examples": ["30s", "10m", "1h30m", "250ms", "2d", 90],
        }


def _moment(value: object) -> datetime:
    try:
        moment = read_moment(value)
    except InvalidJob as error:
        raise _fault(str(error)) from error
    if not _FIRST <= moment <= _LAST:
        raise _fault("must lie between the years 1970 and 2999")
    return moment


def _json_text(value: object) -> str | None:
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise _fault("holds a number that is too large for JSON to keep") from error


def _form(value: object) -> str | None:
    """Which form of a field was written: its short text or its object."""
    if isinstance(value, str):
        return "form:text"
    return "form:object" if isinstance(value, dict) else None


def _told_form(message: str) -> Discriminator:
    """Tells a field's short text from its object, so that faults are those of the form written."""
    return Discriminator(_form, custom_error_type="form", custom_error_message=message)


def _overlap(value: str) -> str:
    if value in ("queue_one", "queue_all", "replace"):
        raise _fault(f'"{value}" does not exist yet; there are "skip" (the default) and "allow"')
    if value not in ("skip", "allow"):
        raise _fault(f'must be "skip" or "allow", not "{value[:100]}"')
    return value


_DAY = timedelta(days=1)
_ZERO, _MOMENT = timedelta(0), timedelta(milliseconds=1)

_Line = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_clean)]
_Argument = Annotated[str, AfterValidator(_argument)]
_Time = Annotated[
    datetime, PlainValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})
]
_Overlap = Annotated[
    str, AfterValidator(_overlap), WithJsonSchema({"type": "string", "enum": ["skip", "allow"]})
]
_MissedName = Literal["catch_up", "latest", "skip"]


_STRICT = ConfigDict(extra="forbid", strict=True)


def _form_schema(name: str, kind: str, *without: str) -> JsonDict:
    nulls: JsonDict = {each: {"type": "null"} for each in without}
    return {"required": [name], "properties": {name: {"type": kind}, **nulls}}


class _CommandFields(TypedDict, total=False):
    name: Annotated[
        Annotated[str, AfterValidator(_command_name)] | None,
        Field(
            description="A command of the worker's own file; then nothing else stands here.",
            json_schema_extra={"pattern": NAMED_COMMAND},
        ),
    ]
    exec: (
        Annotated[list[_Argument], Field(min_length=1, max_length=10_000), AfterValidator(_program)]
        | None
    )
    shell: Annotated[str, Field(min_length=1), AfterValidator(_argument)] | None
    cwd: (
        Annotated[
            str, Field(max_length=4000), AfterValidator(_without_nul), AfterValidator(_absolute)
        ]
        | None
    )
    env: dict[Annotated[str, AfterValidator(_variable)], _Argument] | None
    stdin: Annotated[str, AfterValidator(_without_nul)] | None
    user: Annotated[_Line, Field(max_length=100)] | None


_FORMS: JsonDict = {
    "oneOf": [
        _form_schema("exec", "array"),
        _form_schema("shell", "string"),
        _form_schema("name", "string", "cwd", "env", "stdin", "user"),
    ]
}


@with_config(ConfigDict(**_STRICT, json_schema_extra=_FORMS))
class CommandBody(_CommandFields):
    """What a worker starts: exactly one of exec (a program, its arguments) and shell (a text)."""


@with_config(_STRICT)
class MissedBody(TypedDict, total=False):
    """What becomes of slots that nobody planned in time."""

    policy: _MissedName | None
    grace: Annotated[timedelta, _Within(_ZERO, 30 * _DAY)] | None
    window: Annotated[timedelta, _Within(_ZERO, 366 * _DAY)] | None


@with_config(_STRICT)
class RetryBody(TypedDict, total=False):
    """How often a failing run is tried, and how long after each failure."""

    tries: Annotated[int, Field(ge=1, le=100)] | None
    backoff: Annotated[timedelta, _Within(_ZERO, 30 * _DAY)] | None
    cap: Annotated[timedelta, _Within(_ZERO, 30 * _DAY)] | None


_Name = Annotated[
    str, AfterValidator(_command_name), Field(json_schema_extra={"pattern": NAMED_COMMAND})
]
_COMMAND_FORM = _told_form(
    'must be a command\'s name, {"exec": ["program", "argument"]} or {"shell": "text"}'
)
_Command = Annotated[
    Annotated[_Name, Tag("form:text")] | Annotated[CommandBody, Tag("form:object")], _COMMAND_FORM
]
_Missed = Annotated[
    Annotated[_MissedName, Tag("form:text")] | Annotated[MissedBody, Tag("form:object")],
    _told_form('must be "catch_up", "latest", "skip" or {"policy", "grace", "window"}'),
]
_Retry = Annotated[
    Annotated[Literal["never"], Tag("form:text")] | Annotated[RetryBody, Tag("form:object")],
    _told_form('must be "never" or {"tries", "backoff", "cap"}'),
]


class JobFields(TypedDict, total=False):
    """Every field but the two that a new job needs. null means: not there, the default."""

    name: _Line | None
    timezone: Annotated[
        str | None,
        Field(
            description="A name of the IANA database; UTC if not given.",
            json_schema_extra={"minLength": 1, "maxLength": 100},
        ),
    ]
    gap: Literal["after", "skip"] | None
    repeat: Literal["first", "second", "both"] | None
    input: Annotated[
        Annotated[Any, AfterValidator(_json_text)] | None,
        Field(description="Any JSON; the command gets it on standard input."),
    ]
    jitter: Annotated[timedelta, _Within(_ZERO, _DAY)] | None
    overlap: _Overlap | None
    missed: _Missed | None
    retry: _Retry | None
    timeout: Annotated[timedelta, _Within(_MOMENT, 30 * _DAY)] | None
    queue: Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_queue_name)] | None
    priority: Annotated[int, Field(ge=0, le=9)] | None
    description: Annotated[str, Field(max_length=10_000), AfterValidator(_without_nul)] | None
    owner: _Line | None
    alert: Literal["owner", "none"] | None
    starts_at: _Time | None
    ends_at: _Time | None
    source: Annotated[str, Field(min_length=1, max_length=4000), AfterValidator(_clean)] | None


# Its length, like all else of it, is the parser's to judge: told once.
_Schedule = Annotated[
    str,
    WithJsonSchema(
        {
            "type": "string",
            "minLength": 1,
            "maxLength": 1000,
            "examples": [
                "30 2 * * mon-fri",
                "daily 02:00",
                "every 5 minutes",
                "at 2026-12-04T18:00",
            ],
        }
    ),
]


@with_config(_STRICT)
class JobBody(JobFields):
    """A job to register."""

    schedule: _Schedule
    command: _Command


@with_config(_STRICT)
class CommandPatch(_CommandFields):
    """What to change of a command; it must be whole once merged with the one that is there."""


@with_config(_STRICT)
class JobPatch(JobFields, total=False):
    """What to change of a job (JSON merge patch); null sets a field back to its default.

    `command`, `missed` and `retry` merge member by member; any other field, `input` too, is
    replaced.
    """

    schedule: _Schedule
    command: Annotated[
        Annotated[_Name, Tag("form:text")] | Annotated[CommandPatch, Tag("form:object")],
        _COMMAND_FORM,
    ]
