"""`duly jobs`: one command per thing that can be done to a job."""

from __future__ import annotations

import sys
import time
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duly.cli import job_view
from duly.cli.connection import Data, Json, Server, connected
from duly.cli.exits import Exit
from duly.cli.job_fields import CLEARABLE, JobOptions, add_body, edit_body
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
Utc = Annotated[bool, typer.Option("--utc", help="Show times in UTC, not in this machine's zone.")]
Limit = Annotated[int, typer.Option(min=0, help="Show at most so many; 0 shows all.")]

Name = Annotated[str | None, typer.Option(help="A name, unique among jobs.", show_default=False)]
Schedule = Annotated[
    str, typer.Option(help="When: 'daily 02:00', '30 2 * * *', 'every 5 minutes' ...")
]
NewSchedule = Annotated[str | None, typer.Option(help="When it shall run.", show_default=False)]
Zone = Annotated[
    str | None, typer.Option(help="Time zone, for example Europe/Amsterdam.", show_default="UTC")
]
GapOption = Annotated[
    str | None,
    typer.Option(help="A wall time that daylight saving leaves out: after or skip.", metavar="HOW"),
]
RepeatOption = Annotated[
    str | None,
    typer.Option(help="A wall time that comes twice: first, second or both.", metavar="WHICH"),
]
Shell = Annotated[str | None, typer.Option(help="What runs: a text for the shell.")]
Command = Annotated[
    str | None, typer.Option(help="What runs: a command of the worker's configuration, by name.")
]
Argv = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- PROGRAM ARG", help="What runs: a program, no shell between."),
]
Cwd = Annotated[str | None, typer.Option(help="Folder it starts in.")]
Env = Annotated[list[str] | None, typer.Option(help="NAME=VALUE for its environment (repeatable).")]
StdinText = Annotated[str | None, typer.Option(help="Text for its standard input.")]
User = Annotated[str | None, typer.Option(help="User it runs as; needs a worker of root.")]
Input = Annotated[str | None, typer.Option(help="JSON for its standard input.", metavar="JSON")]
Jitter = Annotated[str | None, typer.Option(help="Spread over so long after its time: 90s, 5m.")]
Overlap = Annotated[
    str | None, typer.Option(help="While the last run still goes on: skip or allow.")
]
Missed = Annotated[str | None, typer.Option(help="After an outage: latest, catch_up or skip.")]
Retry = Annotated[
    str | None, typer.Option(help="Tries in all; `never` for what must not be repeated.")
]
Timeout = Annotated[str | None, typer.Option(help="Longest that a try may take: 30s, 1h, 2d.")]
Queue = Annotated[str | None, typer.Option(help="Queue whose workers run it.")]
Priority = Annotated[int | None, typer.Option(help="Lower numbers start first.")]
Owner = Annotated[str | None, typer.Option(help="Who answers for it.")]
Alert = Annotated[str | None, typer.Option(help="Who hears of its failure: owner or none.")]
Description = Annotated[str | None, typer.Option(help="What it is for.")]
Starts = Annotated[str | None, typer.Option(help="No run before this instant.", metavar="ISO")]
Ends = Annotated[str | None, typer.Option(help="No run after this instant.", metavar="ISO")]


@app.command("add")
def add(  # noqa: PLR0913, PLR0917 - each option is a parameter
    schedule: Schedule,
    name: Name = None,
    tz: Zone = None,
    shell: Shell = None,
    command: Command = None,
    argv: Argv = None,
    gap: GapOption = None,
    repeat: RepeatOption = None,
    cwd: Cwd = None,
    env: Env = None,
    stdin_text: StdinText = None,
    user: User = None,
    input: Input = None,  # noqa: A002 - the option's name
    jitter: Jitter = None,
    overlap: Overlap = None,
    missed: Missed = None,
    retry: Retry = None,
    timeout: Timeout = None,
    queue: Queue = None,
    priority: Priority = None,
    owner: Owner = None,
    alert: Alert = None,
    description: Description = None,
    starts: Starts = None,
    ends: Ends = None,
    server: Server = None,
    data: Data = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Register a job. The same request again finds the job that it made."""
    options = JobOptions(
        name=name,
        schedule=schedule,
        tz=tz,
        gap=gap,
        repeat=repeat,
        shell=shell,
        command=command,
        argv=argv or (),
        cwd=cwd,
        env=env or (),
        stdin_text=stdin_text,
        user=user,
        input=input,
        jitter=jitter,
        overlap=overlap,
        missed=missed,
        retry=retry,
        timeout=timeout,
        queue=queue,
        priority=priority,
        owner=owner,
        alert=alert,
        description=description,
        starts=starts,
        ends=ends,
    )
    with connected(server, data, as_json=as_json) as duly:
        _show_job(duly.add_job(add_body(options)), as_json=as_json, utc=utc, brief=True)


@app.command("list")
def list_jobs(  # noqa: PLR0917 - each option is a parameter
    state: Annotated[str | None, typer.Option(help="active, paused or ended.")] = None,
    name: Annotated[str | None, typer.Option(help="The job of this name.")] = None,
    source: Annotated[str | None, typer.Option(help="Imported from there.")] = None,
    queue: Annotated[str | None, typer.Option(help="Of this queue.")] = None,
    owner: Annotated[str | None, typer.Option(help="Of this owner.")] = None,
    limit: Limit = 100,
    server: Server = None,
    data: Data = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """List jobs."""
    with connected(server, data, as_json=as_json) as duly:
        jobs = duly.jobs(
            state=state, name=name, source=source, queue=queue, owner=owner, page=page_for(limit)
        )
        rows = up_to(limit, jobs)
        if as_json:
            print_json(rows)
            return
        now, zone = SystemClock().now(), display_zone(utc=utc)
        print_table(job_view.COLUMNS, [job_view.row(job, now, zone) for job in rows])


@app.command("show")
def show(
    job: JobName,
    server: Server = None,
    data: Data = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Show everything about a job."""
    with connected(server, data, as_json=as_json) as duly:
        _show_job(find_job(duly, job), as_json=as_json, utc=utc)


@app.command("edit")
def edit(  # noqa: PLR0913, PLR0917 - each option is a parameter
    job: JobName,
    argv: Argv = None,
    name: Name = None,
    schedule: NewSchedule = None,
    tz: Annotated[str | None, typer.Option(help="Time zone.", show_default=False)] = None,
    shell: Shell = None,
    command: Command = None,
    gap: GapOption = None,
    repeat: RepeatOption = None,
    cwd: Cwd = None,
    env: Env = None,
    stdin_text: StdinText = None,
    user: User = None,
    input: Input = None,  # noqa: A002
    jitter: Jitter = None,
    overlap: Overlap = None,
    missed: Missed = None,
    retry: Retry = None,
    timeout: Timeout = None,
    queue: Queue = None,
    priority: Priority = None,
    owner: Owner = None,
    alert: Alert = None,
    description: Description = None,
    starts: Starts = None,
    ends: Ends = None,
    clear: Annotated[
        list[str] | None,
        typer.Option(help=f"Take away (repeatable): {', '.join(CLEARABLE)}.", metavar="FIELD"),
    ] = None,
    server: Server = None,
    data: Data = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Change what is named and nothing else."""
    options = JobOptions(
        name=name,
        schedule=schedule,
        tz=tz,
        gap=gap,
        repeat=repeat,
        shell=shell,
        command=command,
        argv=argv or (),
        cwd=cwd,
        env=env or (),
        stdin_text=stdin_text,
        user=user,
        input=input,
        jitter=jitter,
        overlap=overlap,
        missed=missed,
        retry=retry,
        timeout=timeout,
        queue=queue,
        priority=priority,
        owner=owner,
        alert=alert,
        description=description,
        starts=starts,
        ends=ends,
        clear=clear or (),
    )
    with connected(server, data, as_json=as_json) as duly:
        known = find_job(duly, job)
        changed = duly.edit_job(known["id"], edit_body(options, known))
        _show_job(changed, as_json=as_json, utc=utc, brief=True)


@app.command("pause")
def pause(
    job: JobName,
    server: Server = None,
    data: Data = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Let nothing of the job start until it is resumed."""
    with connected(server, data, as_json=as_json) as duly:
        paused = duly.pause_job(find_id(duly, job))
        _show_job(paused, as_json=as_json, utc=utc, brief=True)


@app.command("resume")
def resume(
    job: JobName,
    server: Server = None,
    data: Data = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Take a paused job up again, from its next time on."""
    with connected(server, data, as_json=as_json) as duly:
        resumed = duly.resume_job(find_id(duly, job))
        _show_job(resumed, as_json=as_json, utc=utc, brief=True)


@app.command("rm")
def remove(
    job: JobName,
    server: Server = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Delete a job. Its runs stay in the history."""
    with connected(server, data, as_json=as_json) as duly:
        job_id = find_id(duly, job)
        duly.delete_job(job_id)
        if as_json:
            print_json({"id": job_id, "state": "deleted"})
        else:
            print_facts([("deleted", job_id)])


@app.command("run")
def run(
    job: JobName,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for its end; exit code 1 unless it succeeds.")
    ] = False,
    server: Server = None,
    data: Data = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Start a run now, outside the schedule."""
    with connected(server, data, as_json=as_json) as duly:
        started = duly.run_job(find_id(duly, job))
        if wait:
            started = _ended(duly, started)
        if as_json:
            print_json(started)
        else:
            print_facts(run_facts(started, SystemClock().now(), display_zone(utc=utc)))
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


def _show_job(job: Job, *, as_json: bool, utc: bool, brief: bool = False) -> None:
    if as_json:
        print_json(job)
        return
    view = job_view.brief if brief else job_view.facts
    print_facts(view(job, SystemClock().now(), display_zone(utc=utc)))


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
