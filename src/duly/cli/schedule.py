"""`duly schedule`: when a schedule runs and why, without a server."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from duly.cli.exits import InvalidInput, told
from duly.cli.options import flat
from duly.cli.times import local, offset, read_moment, stamp
from duly.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

    from duly.schedule import Explanation, Schedule

_E = TypeVar("_E", bound=StrEnum)

app = typer.Typer(no_args_is_help=True, help="Ask a schedule when it runs; needs no server.")

Text = Annotated[
    list[str],
    typer.Argument(metavar="TEXT", help="The schedule, in quotes: 'daily 02:00', '30 2 * * *'."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What both commands ask about a schedule."""

    tz: Annotated[str, typer.Option(help="Time zone, for example Europe/Amsterdam.")] = "UTC"
    after: Annotated[
        str | None,
        typer.Option(
            help="Look after this instant; without an offset it is wall time in --tz.",
            metavar="ISO",
            show_default="now",
        ),
    ] = None
    count: Annotated[int, typer.Option(min=1, help="So many times.")] = 5
    gap: Annotated[
        str, typer.Option(help="A wall time that daylight saving leaves out: after or skip.")
    ] = "after"
    repeat: Annotated[
        str, typer.Option(help="A wall time that comes twice: first, second or both.")
    ] = "first"
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@app.command("next")
@flat
def next_times(text: Text, asked: Question) -> None:
    """Print the next times, one a line, in the schedule's zone (--json: in UTC)."""
    with told(as_json=asked.as_json):
        schedule = _parsed(text, asked)
        from duly.schedule import next_times as times_of

        times = times_of(schedule, _start(asked.after, schedule.tz), asked.count)
        if asked.as_json:
            sys.stdout.write(json.dumps([stamp(time) for time in times]) + "\n")
            return
        sys.stdout.writelines(f"{time.astimezone(schedule.tz).isoformat()}\n" for time in times)
        if len(times) < asked.count:
            sys.stderr.write("duly: the schedule has no time after that\n")


@app.command("explain")
@flat
def explain(text: Text, asked: Question) -> None:
    """Say in words when a schedule runs, and what changes of the clock do to it."""
    with told(as_json=asked.as_json):
        schedule = _parsed(text, asked)
        now = _start(asked.after, schedule.tz)
        from duly.schedule import explain as explained

        explanation = explained(schedule, now, asked.count)
        if asked.as_json:
            sys.stdout.write(json.dumps(_document(schedule, explanation), indent=2) + "\n")
        else:
            sys.stdout.write("\n".join(_lines(schedule, explanation)) + "\n")


def _parsed(words: list[str], asked: Question) -> Schedule:
    from duly.schedule import Gap, Repeat, parse  # `duly --help` needs no calendar

    if len(words) > 1:
        quoted = " ".join(words).replace("'", "")
        raise InvalidInput(f"give the schedule as one argument, in quotes: '{quoted}'")
    return parse(
        words[0],
        asked.tz,
        gap=_choice(Gap, asked.gap, "--gap"),
        repeat=_choice(Repeat, asked.repeat, "--repeat"),
    )


def _choice(kind: type[_E], text: str, option: str) -> _E:
    try:
        return kind(text)
    except ValueError as error:
        forms = ", ".join(kind)
        raise InvalidInput(f"{option} {text!r} is none of: {forms}") from error


def _start(after: str | None, zone: tzinfo) -> datetime:
    if after is None:
        return SystemClock().now()
    return read_moment(after, zone, option="--after")


def _document(schedule: Schedule, explanation: Explanation) -> dict[str, Any]:
    return {
        "schedule": schedule.text,
        "timezone": schedule.zone,
        "in_words": explanation.words,
        "next": [stamp(time) for time in explanation.next],
        "next_local": [time.astimezone(schedule.tz).isoformat() for time in explanation.next],
        "changes": [
            {
                "at": stamp(change.at),
                "before": offset(change.before),
                "after": offset(change.after),
                "kind": change.kind,
                "effect": change.effect,
            }
            for change in explanation.changes
        ],
        "warnings": list(explanation.warnings),
    }


def _lines(schedule: Schedule, explanation: Explanation) -> Iterator[str]:
    yield f"{schedule.text}"
    yield f"means: {explanation.words}"
    yield "next:" if explanation.next else "next: never again"
    for time in explanation.next:
        utc = "" if schedule.zone == "UTC" else f"  {stamp(time)}"
        yield f"  {local(time, schedule.tz)}{utc}"
    for change in explanation.changes:
        offsets = f"UTC{offset(change.before)} to UTC{offset(change.after)}"
        yield f"change: {local(change.at, schedule.tz)}, from {offsets}: {change.effect}"
    told_already = {change.effect for change in explanation.changes}
    for warning in explanation.warnings:
        if warning not in told_already:
            yield f"warning: {warning}"
