"""`duly runs`: the history, and what runs now."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from duly.cli import run_view
from duly.cli.connection import Asked, View, connected
from duly.cli.jobs import Limit, find_id, page_for, up_to
from duly.cli.options import flat
from duly.cli.printable import output_safe
from duly.cli.tables import print_facts, print_json, print_table
from duly.cli.times import display_zone, read_moment, stamp
from duly.clock import EPOCH, SystemClock
from duly.errors import NoSuchRun
from duly.run import parse_run_ref

if TYPE_CHECKING:
    from duly.sdk import Client

app = typer.Typer(no_args_is_help=True, help="Look at runs, their output, and cancel them.")

RunName = Annotated[
    str, typer.Argument(metavar="RUN", help="Its id, as `duly runs list` shows it.")
]
RunOrJob = Annotated[
    str,
    typer.Argument(metavar="RUN|JOB", help="A run's id, or a job: then its latest run to start."),
]
_LENGTH = re.compile(r"([0-9]{1,6})\s*(s|m|h|d|w)", re.ASCII)
# Runs are listed newest first, and those planned ahead come before the latest to start.
_LOOK_BACK = 50
_LONGEST = timedelta(days=10_000)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedForText(Asked):
    """What is printed is no JSON; errors can be."""

    as_json: Annotated[
        bool, typer.Option("--json", help="Print errors as JSON; the output itself stays as it is.")
    ] = False


@app.command("list")
@flat
def list_runs(
    *,
    job: Annotated[
        str | None, typer.Argument(metavar="JOB", help="Only of this job, by id or name.")
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(help="queued, running, succeeded, dead, skipped or canceled."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(help="For this instant (ISO 8601) or later, or so long ago: 2h, 7d."),
    ] = None,
    until: Annotated[str | None, typer.Option(help="For this instant or earlier.")] = None,
    limit: Limit = 50,
    view: View,
) -> None:
    """List runs, the newest first."""
    with connected(view) as duly:
        now, zone = SystemClock().now(), display_zone(utc=view.utc)
        runs = duly.runs(
            None if job is None else find_id(duly, job),
            page=page_for(limit),
            status=status,
            since=_bound(since, now, utc=view.utc, option="--since"),
            until=_bound(until, now, utc=view.utc, option="--until"),
        )
        rows = up_to(limit, runs)
        if view.as_json:
            print_json(rows)
        else:
            print_table(run_view.COLUMNS, [run_view.row(run, now, zone) for run in rows])


@app.command("show")
@flat
def show(
    run: RunOrJob,
    view: View,
) -> None:
    """Show everything about a run, its tries included."""
    with connected(view) as duly:
        found = duly.run(_run_id(duly, run))
        if view.as_json:
            print_json(found)
        else:
            print_facts(run_view.facts(found, SystemClock().now(), display_zone(utc=view.utc)))


@app.command("output")
@flat
def output(
    *,
    run: RunOrJob,
    attempt: Annotated[
        int | None, typer.Option(min=1, help="Of this try.", show_default="the last")
    ] = None,
    asked: AskedForText,
) -> None:
    """Print what a run wrote, byte for byte; on a terminal without control characters."""
    with connected(asked) as duly:
        content = duly.output(_run_id(duly, run), attempt=attempt)
    if not content:
        sys.stderr.write("duly: the run wrote nothing, or has not ended yet\n")
    if sys.stdout.isatty():
        sys.stdout.write(output_safe(content))
    else:
        sys.stdout.buffer.write(content)
    sys.stdout.flush()


@app.command("cancel")
@flat
def cancel(
    run: RunName,
    view: View,
) -> None:
    """Cancel a run that has not started."""
    with connected(view) as duly:
        canceled = duly.cancel_run(run)
        if view.as_json:
            print_json(canceled)
        else:
            print_facts(run_view.facts(canceled, SystemClock().now(), display_zone(utc=view.utc)))


def _run_id(duly: Client, run_or_job: str) -> str:
    """A run's id as it is; for a job, by id or name, that of the latest run that has started."""
    if parse_run_ref(run_or_job) is not None:
        return run_or_job
    job = find_id(duly, run_or_job)
    for run in duly.runs(job, page=_LOOK_BACK):
        if run["started"] is not None:
            return str(run["id"])
    raise NoSuchRun(f"no run of {run_or_job!r} has started yet; see `duly runs list`")


def _bound(text: str | None, now: datetime, *, utc: bool, option: str) -> str | None:
    """An end of the time asked for: an instant, or a length before the present."""
    if text is None:
        return None
    if length := _LENGTH.fullmatch(text.strip().lower()):
        ago = timedelta(**{_UNITS[length[2]]: int(length[1])})
        return stamp(max(now - min(ago, _LONGEST), EPOCH))
    return stamp(read_moment(text, UTC if utc else None, option=option))
