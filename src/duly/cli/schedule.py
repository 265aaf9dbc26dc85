"""`duly schedule`: when a schedule runs and why, without a server."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from duly.cli.exits import InvalidInput, told
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
Zone = Annotated[str, typer.Option("--tz", help="Time zone, for example Europe/Amsterdam.")]
After = Annotated[
    str | None,
    typer.Option(
        help="Look after this instant; without an offset it is wall time in --tz.",
        metavar="ISO",
        show_default="now",
    ),
]
Count = Annotated[int, typer.Option(min=1, help="So many times.")]
GapOption = Annotated[
    str, typer.Option("--gap", help="A wall time that daylight saving leaves out: after or skip.")
]
RepeatOption = Annotated[
    str, typer.Option("--repeat", help="A wall time that comes twice: first, second or both.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("next")
def next_times(
    text: Text,
    tz: Zone = "UTC",
    after: After = None,
    count: Count = 5,
    gap: GapOption = "after",
    repeat: RepeatOption = "first",
    as_json: Json = False,
) -> None:
    """Print the next times, one a line, in the schedule's zone (--json: in UTC)."""
    with told(as_json=as_json):
        schedule = _parsed(text, tz, gap, repeat)
        from duly.schedule import next_times as times_of

        times = times_of(schedule, _start(after, schedule.tz), count)
        if as_json:
            sys.stdout.write(json.dumps([stamp(time) for time in times]) + "\n")
            return
        sys.stdout.writelines(f"{time.astimezone(schedule.tz).isoformat()}\n" for time in times)
        if len(times) < count:
            sys.stderr.write("duly: the schedule has no time after that\n")


@app.command("explain")
def explain(
    text: Text,
    tz: Zone = "UTC",
    after: After = None,
    count: Count = 5,
    gap: GapOption = "after",
    repeat: RepeatOption = "first",
    as_json: Json = False,
) -> None:
    """Say in words when a schedule runs, and what changes of the clock do to it."""
    with told(as_json=as_json):
        schedule = _parsed(text, tz, gap, repeat)
        now = _start(after, schedule.tz)
        from duly.schedule import explain as explained

        explanation = explained(schedule, now, count)
        if as_json:
            sys.stdout.write(json.dumps(_document(schedule, explanation), indent=2) + "\n")
        else:
            sys.stdout.write("\n".join(_lines(schedule, explanation)) + "\n")


def _parsed(words: list[str], tz: str, gap: str, repeat: str) -> Schedule:
    from duly.schedule import Gap, Repeat, parse  # `duly --help` needs no calendar

    if len(words) > 1:
        quoted = " ".join(words).replace("'", "")
        raise InvalidInput(f"give the schedule as one argument, in quotes: '{quoted}'")
    return parse(
        words[0], tz, gap=_choice(Gap, gap, "--gap"), repeat=_choice(Repeat, repeat, "--repeat")
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
