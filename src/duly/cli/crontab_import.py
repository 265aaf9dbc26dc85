"""`duly import crontab`: make jobs of crontabs, again and again without doing anything twice.

Safe to stop and repeat at any point: each line is added or changed by one request of its own, and
the next import recognises what the last one did.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duly.cli import crontab_report
from duly.cli.connection import Asked, answering, connected, machine_zone_name
from duly.cli.crontab_files import Collected, collect, machine_zone
from duly.cli.crontab_jobs import Line, Match, body, changes, match
from duly.cli.crontab_lines import Reading, read_lines
from duly.cli.crontab_names import free_name
from duly.cli.crontab_report import Entry, Gone, Report, Told
from duly.cli.exits import Exit, exit_for, told
from duly.cli.options import flat
from duly.cli.tables import print_json
from duly.clock import SystemClock
from duly.schedule import load_zone, zone_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from duly.sdk import ApiError, Client, Job

# Jobs that a look for files gone from a folder reads at most: a hundred pages.
_LOOKED_THROUGH = 100_000

app = typer.Typer(no_args_is_help=True, help="Take over what another scheduler runs.")


@app.callback()
def _group() -> None:
    """Take over what another scheduler runs."""


@app.command("crontab")
@flat
def crontab(
    *,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Crontabs; - is standard input, a folder is one like /etc/cron.d.",
        ),
    ],
    system: Annotated[
        bool, typer.Option("--system", help="Lines have a user column, as in /etc/crontab.")
    ] = False,
    user: Annotated[
        str | None, typer.Option(help="Whose crontab it is, where its lines do not say.")
    ] = None,
    tz: Annotated[
        str | None,
        typer.Option(help="Zone of lines without CRON_TZ.", show_default="this machine's"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done; change nothing.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete jobs whose line is no longer in the file.")
    ] = False,
    asked: Asked,
) -> None:
    """Make a job of each line of crontabs. Run it again after a change of theirs."""
    with told(as_json=asked.as_json):
        zone, zone_from = _zone(tz)
        found = collect(files, system=system, user=user, read_stdin=sys.stdin.buffer.read)
        now = SystemClock().now()
        readings = [read_lines(file, zone, now) for file in found.files]
    report = Report(zone, zone_from, dry_run=dry_run, files=list(found.files))
    report.skipped = [Told(left.path, None, None, left.message) for left in found.skipped]
    report.reported = [Told(left.path, None, None, left.message) for left in found.unreadable]
    if dry_run:
        with told(as_json=asked.as_json), answering(asked) as (duly, why_not):
            report.not_asked = why_not
            _import(duly, readings, report, prune=prune)
            _look_for_lost_files(duly, found, report, prune=prune)
    else:
        with connected(asked) as duly:
            _import(duly, readings, report, prune=prune)
            _look_for_lost_files(duly, found, report, prune=prune)
    if asked.as_json:
        print_json(crontab_report.document(report))
    else:
        sys.stdout.write(crontab_report.text(report))
    if report.reported:
        raise typer.Exit(Exit.FAILED)


def _zone(tz: str | None) -> tuple[str, str]:
    if tz is None:
        return machine_zone(machine_zone_name(), known=zone_names().__contains__)
    return load_zone(tz).key, "--tz"


def _import(
    duly: Client | None, readings: Sequence[Reading], report: Report, *, prune: bool
) -> None:
    """Bring each crontab's jobs in line with it; what that came to is added to the report."""
    names: set[str] = set()
    for reading in readings:
        jobs = [] if duly is None else list(duly.jobs(source=reading.file.source))
        names |= {name for job in jobs if (name := job.get("name"))}
        matched = match(reading.lines, jobs)
        report.reported += reading.faults
        report.warnings += reading.warnings
        for pair in matched.matches:
            outcome = _settle(None if report.dry_run else duly, pair, names)
            if isinstance(outcome, Entry):
                report.jobs.append(outcome)
                names.add(outcome.name)
            else:
                report.reported.append(outcome)
        for job in matched.gone:
            _let_go(duly, job, reading.file.path, report, prune=prune, whole=reading.whole)


def _look_for_lost_files(
    duly: Client | None, found: Collected, report: Report, *, prune: bool
) -> None:
    """A file that went from a folder takes its lines along: tell of their jobs like of others.

    Sources can be asked for one by one only, so this looks at all jobs; where they are too many,
    the report says that nobody looked.
    """
    if duly is None or not found.folders:
        return
    if sum(duly.status().get("jobs", {}).values()) > _LOOKED_THROUGH:
        report.not_looked = ", ".join(found.folders)
        return
    for job in list(duly.jobs(page=1000)):
        path = found.lost(job.get("source") or "")
        if path is not None:
            _let_go(duly, job, path, report, prune=prune)


def _let_go(
    duly: Client | None,
    job: Mapping[str, Any],
    path: str,
    report: Report,
    *,
    prune: bool,
    whole: bool = True,
) -> None:
    """Tell of a job that has no line any more; with `prune` delete it.

    A slip of the pen in a line must not cost its job: where a file was not read as a `whole`, its
    jobs are kept.
    """
    action, reason = "kept", None
    if prune and not whole:
        reason = "kept, for it may be that of a line that cannot be read"
    elif prune:
        action = "would_delete" if report.dry_run else "deleted"
    if action == "deleted" and duly is not None:
        duly.delete_job(job["id"])
    report.gone.append(Gone(path, job, action, reason))


def _settle(duly: Client | None, pair: Match, names: set[str]) -> Entry | Told:
    """Add, change or leave one line's job; without a server only say what would be done.

    A line that the server refuses is told like one that cannot be read; the others go on.
    """
    line, job = pair.line, pair.job
    if job is None:
        return _add(duly, line, names)
    name = job.get("name") or ""
    patch = changes(line, job)
    if not patch:
        return Entry(line, "unchanged", job["id"], name)
    if duly is None:
        return Entry(line, "would_change", job["id"], name, tuple(patch))
    from duly.sdk import ApiError  # loaded with the client, or not at all

    try:
        duly.edit_job(job["id"], patch)
    except ApiError as error:
        return _refused(line, error)
    return Entry(line, "changed", job["id"], name, tuple(patch))


def _add(duly: Client | None, line: Line, names: set[str]) -> Entry | Told:
    name = free_name(line.name, names)
    if duly is None:
        return Entry(line, "would_add", None, name)
    from duly.sdk import ApiError

    while True:
        try:
            job: Job = duly.add_job(body(line, name))
        except ApiError as error:
            if error.status != 409:
                return _refused(line, error)
            # Someone else's job has that name. Each turn tries another, so this ends.
            names.add(name)
            name = free_name(line.name, names)
        else:
            return Entry(line, "added", job["id"], name)


def _refused(line: Line, error: ApiError) -> Told:
    if exit_for(error) is not Exit.INVALID:
        raise error
    return Told(line.file, line.number, line.said.shell, str(error))
