"""From a command's options to the body of a request. Pure: text in, JSON values out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from duly.cli.exits import InvalidInput
from duly.cli.times import read_moment, stamp
from duly.schedule import load_zone

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CLEARABLE = (
    "name",
    "description",
    "owner",
    "input",
    "starts",
    "ends",
    "cwd",
    "env",
    "stdin",
    "user",
)
_FIELD_OF = {"starts": "starts_at", "ends": "ends_at"}
_COMMAND_PARTS = ("cwd", "env", "stdin", "user")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """What was given on the command line; None (or nothing) where it was not."""

    name: str | None = None
    schedule: str | None = None
    tz: str | None = None
    gap: str | None = None
    repeat: str | None = None
    shell: str | None = None
    command: str | None = None
    argv: Sequence[str] = ()
    cwd: str | None = None
    env: Sequence[str] = ()
    stdin_text: str | None = None
    user: str | None = None
    input: str | None = None
    jitter: str | None = None
    overlap: str | None = None
    missed: str | None = None
    retry: str | None = None
    timeout: str | None = None
    queue: str | None = None
    priority: int | None = None
    owner: str | None = None
    alert: str | None = None
    description: str | None = None
    starts: str | None = None
    ends: str | None = None
    clear: Sequence[str] = ()


def add_body(options: JobOptions) -> dict[str, Any]:
    """The body that registers a job. Raises InvalidInput."""
    what = _what(options)
    if what is None:
        raise InvalidInput(
            "what shall run? give one of: --shell 'TEXT', --command NAME, or the program and its "
            "arguments after --"
        )
    command = {**what, **_how(options)}
    # A name alone is written as one.
    short = command["name"] if set(command) == {"name"} else command
    return {**_plain(options, options.tz or "UTC"), "command": short}


def edit_body(options: JobOptions, job: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch with what was given and nothing else. Raises InvalidInput."""
    patch = _plain(options, options.tz or job["timezone"])
    for field in options.clear:
        if field not in CLEARABLE:
            raise InvalidInput(f"--clear {field}: only these can be: {', '.join(CLEARABLE)}")
        if field not in _COMMAND_PARTS:
            patch[_FIELD_OF.get(field, field)] = None
    what, how = _what(options), _how(options)
    cleared: dict[str, Any] = {part: None for part in options.clear if part in _COMMAND_PARTS}
    if "env" in cleared and "env" in how and isinstance(job["command"], dict):
        # Members merge: to replace the environment, each variable that goes is named.
        how["env"] = {**dict.fromkeys(job["command"].get("env", ())), **how["env"]}
    if what is not None or how or cleared:
        patch["command"] = _edited(job["command"], what, {**cleared, **how})
    if not patch:
        raise InvalidInput(
            "nothing to change; name what with an option, see `duly jobs edit --help`"
        )
    return patch


def _what(options: JobOptions) -> dict[str, Any] | None:
    """The command itself, of which there is one."""
    given: list[dict[str, Any]] = []
    if options.shell is not None:
        given.append({"shell": options.shell})
    if options.command is not None:
        given.append({"name": options.command})
    if options.argv:
        given.append({"exec": list(options.argv)})
    if len(given) > 1:
        raise InvalidInput("give only one of --shell, --command and a program after --")
    return given[0] if given else None


def _how(options: JobOptions) -> dict[str, Any]:
    """The command's surroundings, as far as they were given."""
    parts = {
        "cwd": options.cwd,
        "env": _env(options.env) or None,
        "stdin": options.stdin_text,
        "user": options.user,
    }
    return {name: value for name, value in parts.items() if value is not None}


def _edited(
    known: str | Mapping[str, Any], what: Mapping[str, Any] | None, how: Mapping[str, Any]
) -> Any:
    """A merge patch for the command: another way to run replaces the old one, env is added to."""
    known = {"name": known} if isinstance(known, str) else known
    if what is not None and set(what) == {"name"} and not how:
        # A named command has its surroundings in the worker's file; those of the old one go.
        return what["name"]
    patch: dict[str, Any] = dict(how)
    if what is not None:
        patch |= {way: None for way in ("name", "exec", "shell") if known.get(way) is not None}
        patch |= what
    return patch


def _env(pairs: Sequence[str]) -> dict[str, str]:
    env = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InvalidInput(f"--env {pair!r} is no setting; write it like --env LANG=C")
        env[name] = value
    return env


def _plain(options: JobOptions, zone: str) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "name": options.name,
        "schedule": options.schedule,
        "timezone": options.tz,
        "gap": options.gap,
        "repeat": options.repeat,
        "input": _json(options.input),
        "jitter": _duration(options.jitter),
        "overlap": options.overlap,
        "missed": options.missed,
        "retry": _retry(options.retry),
        "timeout": _duration(options.timeout),
        "queue": options.queue,
        "priority": options.priority,
        "owner": options.owner,
        "alert": options.alert,
        "description": options.description,
        "starts_at": _moment(options.starts, zone, "--starts"),
        "ends_at": _moment(options.ends, zone, "--ends"),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _retry(text: str | None) -> Any:
    if text is None or text == "never":
        return text
    if text.isascii() and text.isdigit():
        return {"tries": int(text)}
    raise InvalidInput(f"--retry {text!r} is neither a number of tries nor `never`")


def _duration(text: str | None) -> Any:
    """As typed; a bare number is one of seconds, which JSON has numbers for."""
    if text is not None and text.isascii() and text.isdigit():
        return int(text)
    return text


def _json(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidInput(
            f"--input is no JSON ({error}); a text needs quotes: '\"text\"'"
        ) from error


def _moment(text: str | None, zone: str, option: str) -> str | None:
    if text is None:
        return None
    return stamp(read_moment(text, load_zone(zone), option=option))
