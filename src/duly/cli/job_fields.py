"""From a command's options to the body of a request. Pure: text in, JSON values out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

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


Text = str | None


def _option(help: str, *names: str, **more: Any) -> Any:  # noqa: A002 - as typer calls it
    return typer.Option(*names, help=help, show_default=False, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """What was given on the command line; None where it was not."""

    argv: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- PROGRAM ARG", help="What runs: a program, no shell between."),
    ] = None
    schedule: Annotated[Text, _option("When it shall run.")] = None
    name: Annotated[Text, _option("A name, unique among jobs.")] = None
    tz: Annotated[Text, _option("Time zone, for example Europe/Amsterdam.")] = None
    gap: Annotated[
        Text,
        _option("A wall time that daylight saving leaves out: after or skip.", metavar="HOW"),
    ] = None
    repeat: Annotated[
        Text, _option("A wall time that comes twice: first, second or both.", metavar="WHICH")
    ] = None
    shell: Annotated[Text, _option("What runs: a text for the shell.")] = None
    command: Annotated[
        Text, _option("What runs: a command of the worker's configuration, by name.")
    ] = None
    cwd: Annotated[Text, _option("Folder it starts in.")] = None
    env: Annotated[list[str] | None, _option("NAME=VALUE for its environment (repeatable).")] = None
    stdin_text: Annotated[Text, _option("Text for its standard input.")] = None
    user: Annotated[Text, _option("User it runs as; needs a worker of root.")] = None
    input: Annotated[Text, _option("JSON for its standard input.", metavar="JSON")] = None
    jitter: Annotated[Text, _option("Spread over so long after its time: 90s, 5m.")] = None
    overlap: Annotated[Text, _option("While the last run still goes on: skip or allow.")] = None
    missed: Annotated[Text, _option("After an outage: latest, catch_up or skip.")] = None
    retry: Annotated[Text, _option("Tries in all; `never` for what must not be repeated.")] = None
    timeout: Annotated[Text, _option("Longest that a try may take: 30s, 1h, 2d.")] = None
    queue: Annotated[Text, _option("Queue whose workers run it.")] = None
    priority: Annotated[int | None, _option("Lower numbers start first.")] = None
    owner: Annotated[Text, _option("Who answers for it.")] = None
    alert: Annotated[Text, _option("Who hears of its failure: owner or none.")] = None
    description: Annotated[Text, _option("What it is for.")] = None
    starts: Annotated[Text, _option("No run before this instant.", metavar="ISO")] = None
    ends: Annotated[Text, _option("No run after this instant.", metavar="ISO")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob(JobOptions):
    """A job to register: it needs a schedule."""

    schedule: Annotated[
        str, _option("When: 'daily 02:00', '30 2 * * *', 'every 5 minutes' ...")
    ] = field()


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes(JobOptions):
    """What to change of a job."""

    clear: Annotated[
        list[str] | None,
        _option(f"Take away (repeatable): {', '.join(CLEARABLE)}.", metavar="FIELD"),
    ] = None


def add_body(options: NewJob) -> dict[str, Any]:
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


def edit_body(options: Changes, job: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch with what was given and nothing else. Raises InvalidInput."""
    patch = _plain(options, options.tz or job["timezone"])
    for name in options.clear or ():
        if name not in CLEARABLE:
            raise InvalidInput(f"--clear {name}: only these can be: {', '.join(CLEARABLE)}")
        if name not in _COMMAND_PARTS:
            patch[_FIELD_OF.get(name, name)] = None
    what, how = _what(options), _how(options)
    cleared: dict[str, Any] = {part: None for part in options.clear or () if part in _COMMAND_PARTS}
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
        "env": _env(options.env or ()) or None,
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
