"""`duly jobs`: one command per thing that can be done to a job."""

from __future__ import annotations

import sys
import time
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duly.cli import job_import, job_view
from duly.cli.connection import Asked, View, connected
from duly.cli.exits import Exit
from duly.cli.job_fields import Changes, NewJob, add_body, edit_body
from duly.cli.options import flat
from duly.cli.run_view import FINAL
from duly.cli.run_view import facts as run_facts
from duly.cli.tables import print_facts, print_json, print_table
from duly.cli.times import display_zone
from duly.clock import SystemClock
from duly.errors import NoSuchJob
from duly.job import parse_job_ref

if TYPE_CHECKING:
    from collections.abc import Iterable

    from duly.sdk import Client, Job, Run

app = typer.Typer(no_args_is_help=True, help="Register, look at and change jobs.")

JobName = Annotated[str, typer.Argument(metavar="JOB", help="Its id (j7) or its name.")]
Limit = Annotated[int, typer.Option(min=0, help="Show at most so many; 0 shows all.")]


@app.command("add")
@flat
def add(job: NewJob, view: View) -> None:
    """Register a job. The same request again finds the job that it made."""
    with connected(view) as duly:
        _show_job(duly.add_job(add_body(job)), view, brief=True)


app.command("import")(flat(job_import.import_jobs))


@app.command("list")
@flat
def list_jobs(
    *,
    state: Annotated[str | None, typer.Option(help="active, paused or ended.")] = None,
    name: Annotated[str | None, typer.Option(help="The job of this name.")] = None,
    source: Annotated[str | None, typer.Option(help="Imported from there.")] = None,
    queue: Annotated[str | None, typer.Option(help="Of this queue.")] = None,
    owner: Annotated[str | None, typer.Option(help="Of this owner.")] = None,
    limit: Limit = 100,
    view: View,
) -> None:
    """List jobs."""
    with connected(view) as duly:
        jobs = duly.jobs(
            state=state, name=name, source=source, queue=queue, owner=owner, page=page_for(limit)
        )
        rows = up_to(limit, jobs)
        if view.as_json:
            print_json(rows)
            return
        now, zone = SystemClock().now(), display_zone(utc=view.utc)
        print_table(job_view.COLUMNS, [job_view.row(job, now, zone) for job in rows])


@app.command("show")
@flat
def show(job: JobName, view: View) -> None:
    """Show everything about a job."""
    with connected(view) as duly:
        _show_job(find_job(duly, job), view)


@app.command("edit")
@flat
def edit(job: JobName, changes: Changes, view: View) -> None:
    """Change what is named and nothing else."""
    with connected(view) as duly:
        known = find_job(duly, job)
        _show_job(duly.edit_job(known["id"], edit_body(changes, known)), view, brief=True)


@app.command("pause")
@flat
def pause(job: JobName, view: View) -> None:
    """Let nothing of the job start until it is resumed."""
    with connected(view) as duly:
        paused = duly.pause_job(find_id(duly, job))
        _show_job(paused, view, brief=True)


@app.command("resume")
@flat
def resume(job: JobName, view: View) -> None:
    """Take a paused job up again, from its next time on."""
    with connected(view) as duly:
        resumed = duly.resume_job(find_id(duly, job))
        _show_job(resumed, view, brief=True)


@app.command("rm")
@flat
def remove(job: JobName, asked: Asked) -> None:
    """Delete a job. Its runs stay in the history."""
    with connected(asked) as duly:
        job_id = find_id(duly, job)
        duly.delete_job(job_id)
        if asked.as_json:
            print_json({"id": job_id, "state": "deleted"})
        else:
            print_facts([("deleted", job_id)])


@app.command("run")
@flat
def run(
    *,
    job: JobName,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for its end; exit code 1 unless it succeeds.")
    ] = False,
    view: View,
) -> None:
    """Start a run now, outside the schedule."""
    with connected(view) as duly:
        started = duly.run_job(find_id(duly, job))
        if wait:
            started = _ended(duly, started)
        if view.as_json:
            print_json(started)
        else:
            print_facts(run_facts(started, SystemClock().now(), display_zone(utc=view.utc)))
    if wait and started["status"] != "succeeded":
        raise typer.Exit(Exit.FAILED)


def find_job(duly: Client, job: str) -> Job:
    """The job by id or name. Raises NoSuchJob, or what the API says."""
    if parse_job_ref(job) is not None:
        return duly.job(job)
    for found in duly.jobs(name=job):
        if found.get("name") == job:
            return found
    raise NoSuchJob(f"there is no job named {job!r}; `duly jobs list` shows all")


def find_id(duly: Client, job: str) -> str:
    """The job's id; one that is given is taken as it is, and the API answers for it."""
    return job if parse_job_ref(job) is not None else find_job(duly, job)["id"]


def page_for(limit: int) -> int:
    """How many rows to ask for at once: one more than shown tells that there are more."""
    return min(limit + 1, 1000) if limit else 1000


def up_to(limit: int, rows: Iterable[Any]) -> list[Any]:
    """The first `limit` rows (0: all); says on standard error that there are more."""
    if limit == 0:
        return list(rows)
    found = list(islice(rows, limit + 1))
    if len(found) > limit:
        sys.stderr.write(f"duly: the first {limit} of more; --limit 0 shows all\n")
    return found[:limit]


def _show_job(job: Job, view: View, *, brief: bool = False) -> None:
    if view.as_json:
        print_json(job)
        return
    shown = job_view.brief if brief else job_view.facts
    print_facts(shown(job, SystemClock().now(), display_zone(utc=view.utc)))


def _ended(duly: Client, run: Run) -> Run:
    """Ask, more and more seldom, until the run is over."""
    pause_s = 0.05
    try:
        while run["status"] not in FINAL:
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, 1.0)
            run = duly.run(run["id"])
    except KeyboardInterrupt:
        sys.stderr.write(f"duly: no longer waiting; see `duly runs show {run['id']}`\n")
        raise typer.Exit(130) from None
    return run
