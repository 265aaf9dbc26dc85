"""`duly up` and the single roles."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from duly.cli.options import flat
from duly.config import DEFAULT_PORT, Config, default_data_dir
from duly.errors import DulyError

Keep = Annotated[int, typer.Option(help="Days of history that stay out of the archive.")]
Host = Annotated[str, typer.Option(help="Address that the API listens on.")]
Port = Annotated[int, typer.Option(help="Port of the API; 0 takes a free one.")]
AllowedHost = Annotated[
    list[str] | None,
    typer.Option(help="A further name that clients may reach the API by (repeatable)."),
]
Horizon = Annotated[float, typer.Option(help="Seconds ahead that runs are planned.")]
Batch = Annotated[
    int | None, typer.Option(help="Jobs planned at a time.", show_default="as suits the engine")
]
Queue = Annotated[list[str] | None, typer.Option(help="A queue to serve (repeatable).")]
Concurrency = Annotated[int, typer.Option(help="Commands run at once.")]
Grace = Annotated[float, typer.Option(help="Seconds that commands may go on after a stop.")]
Beat = Annotated[float, typer.Option(help="Seconds between renewals of a worker's lease.")]
Lease = Annotated[float, typer.Option(help="Seconds that a silent worker keeps its runs.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="A log line for every run too.")]
SupervisedBy = Annotated[int | None, typer.Option(hidden=True)]

_DEFAULTS = Config(data=Path())


@dataclass(frozen=True, slots=True)
class Databases:
    """Where the data lies."""

    data: Annotated[
        Path | None, typer.Option(help="Folder of the databases and the token.", show_default=False)
    ] = None
    jobs_url: Annotated[
        str | None,
        typer.Option(
            help="PostgreSQL database of the jobs, like postgresql://user@host/name; else SQLite.",
            envvar="DULY_JOBS_URL",
            metavar="URL",
            show_default=False,
        ),
    ] = None
    runs_url: Annotated[
        str | None,
        typer.Option(
            help="PostgreSQL database of the runs.",
            envvar="DULY_RUNS_URL",
            metavar="URL",
            show_default="that of the jobs",
        ),
    ] = None

    def settings(self) -> dict[str, Any]:
        return {
            "data": self.data or default_data_dir(os.environ),
            "jobs_url": self.jobs_url or self.runs_url,
            "runs_url": self.runs_url or self.jobs_url,
        }


@dataclass(frozen=True, slots=True)
class Storage(Databases):
    """Where the data lies, the old history included."""

    archive: Annotated[
        str | None,
        typer.Option(
            help="Folder, or s3://bucket/prefix, that history older than --keep moves to.",
            envvar="DULY_ARCHIVE",
            metavar="PLACE",
            show_default="none: all history stays in the database",
        ),
    ] = None

    def settings(self) -> dict[str, Any]:
        return {**Databases.settings(self), "archive": self.archive}


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    app.command(rich_help_panel="Services")(flat(up))
    app.command(rich_help_panel="Services")(flat(api))
    app.command(rich_help_panel="Services")(flat(scheduler))
    app.command(rich_help_panel="Services")(flat(worker))
    app.command(rich_help_panel="Services")(flat(migrate))


def up(
    *,
    storage: Storage,
    keep: Keep = _DEFAULTS.keep_days,
    host: Host = _DEFAULTS.host,
    port: Port = DEFAULT_PORT,
    allowed_host: AllowedHost = None,
    horizon: Horizon = _DEFAULTS.horizon_s,
    batch: Batch = _DEFAULTS.batch,
    queue: Queue = None,
    concurrency: Concurrency = _DEFAULTS.concurrency,
    grace: Grace = _DEFAULTS.grace_s,
    beat: Beat = _DEFAULTS.beat_s,
    lease: Lease = _DEFAULTS.lease_s,
    verbose: Verbose = False,
) -> None:
    """Run API, scheduler and worker on this machine, and keep them running."""
    from duly import wiring
    from duly.services.supervisor import Role, Supervisor

    config = _config(
        **storage.settings(),
        keep_days=keep,
        host=host,
        port=port,
        horizon_s=horizon,
        batch=batch,
        queues=_queues(queue),
        concurrency=concurrency,
        grace_s=grace,
        beat_s=beat,
        lease_s=lease,
    )
    with _told():
        wiring.prepare(config)
        wiring.open_archive(config)  # to be told of a wrong one here, and once
        asyncio.run(wiring.migrate(config))
        listener = wiring.listen(config)
    url = wiring.url_of(listener)
    config.address_file.write_text(f"{url}\n", "utf-8")
    # By the environment: everybody on the machine may read command lines, passwords included.
    for name, place in (
        ("DULY_JOBS_URL", config.jobs_url),
        ("DULY_RUNS_URL", config.runs_url),
        ("DULY_ARCHIVE", config.archive),
    ):
        if place is not None:
            os.environ[name] = place

    def role(name: str, *options: str) -> list[str]:
        common = ["--data", str(config.data), "--supervised-by", str(os.getpid())]
        loud = ["--verbose"] if verbose else []
        return [sys.executable, "-m", "duly", name, *common, *loud, *options]

    def worker_argv(instance: str, dead: Sequence[str]) -> list[str]:
        options = [f"--queue={name}" for name in config.queues]
        options += [f"--replaces={name}" for name in dead]
        numbers = f"--concurrency={concurrency} --grace={grace} --beat={beat} --lease={lease}"
        return role("worker", f"--id={instance}", *numbers.split(), *options)

    api_options = ["--host", host, f"--fd={listener.fileno()}"]
    api_options += [f"--allowed-host={name}" for name in allowed_host or ()]
    scheduler_options = [f"--horizon={horizon}", f"--lease={lease}"]
    scheduler_options += [f"--keep={keep}"] + ([f"--batch={batch}"] if batch else [])
    roles = (
        Role(
            "api",
            lambda _instance, _dead: role("api", *api_options),
            stops_last=True,
            pass_fds=(listener.fileno(),),
        ),
        Role("scheduler", lambda _instance, _dead: role("scheduler", *scheduler_options)),
        Role("worker", worker_argv, runs_commands=True),
    )
    typer.echo(f"Duly listens on {url}")
    typer.echo(f"Data lies in    {wiring.where_data_lies(config)}")
    if config.archive is not None:
        typer.echo(f"Old history in  {config.archive.partition('?')[0]}")
    typer.echo(f"Admin token in  {config.token_file.resolve()}", nl=True)
    sys.stdout.flush()
    supervisor = Supervisor(
        roles,
        _clock(),
        _telemetry("supervisor", verbose=verbose),
        instance=wiring.new_worker_id,
        grace_s=grace,
    )
    _run(supervisor.run, supervised_by=None)


def api(
    *,
    storage: Storage,
    host: Host = _DEFAULTS.host,
    port: Port = DEFAULT_PORT,
    allowed_host: AllowedHost = None,
    fd: Annotated[int | None, typer.Option(hidden=True)] = None,
    verbose: Verbose = False,
    supervised_by: SupervisedBy = None,
) -> None:
    """Run the API alone."""
    from duly import wiring
    from duly.services.api_server import ApiServer

    config = _config(**storage.settings(), host=host, port=port)
    telemetry = _telemetry("api", verbose=verbose)
    with _told():
        wiring.prepare(config)
        asyncio.run(wiring.check_databases(config))
        if fd is None:
            listener = wiring.listen(config)
            config.address_file.write_text(f"{wiring.url_of(listener)}\n", "utf-8")
        else:
            listener = socket.socket(fileno=fd)
        app = wiring.build_api(config, allowed_hosts=allowed_host or [])
    telemetry.say("listening", url=wiring.url_of(listener), data=str(config.data.resolve()))
    _run(ApiServer(app, listener).run, supervised_by)


def scheduler(
    *,
    storage: Storage,
    keep: Keep = _DEFAULTS.keep_days,
    horizon: Horizon = _DEFAULTS.horizon_s,
    batch: Batch = _DEFAULTS.batch,
    lease: Lease = _DEFAULTS.lease_s,
    verbose: Verbose = False,
    supervised_by: SupervisedBy = None,
) -> None:
    """Run a scheduler alone. Of several on one data folder one leads, the others stand by."""
    from duly import wiring

    config = _config(
        **storage.settings(),
        keep_days=keep,
        horizon_s=horizon,
        batch=batch,
        lease_s=lease,
        beat_s=min(_DEFAULTS.beat_s, lease / 2),
    )
    telemetry = _telemetry("scheduler", verbose=verbose)
    with _told():
        wiring.prepare(config)
        asyncio.run(wiring.check_databases(config))
        service = wiring.build_scheduler(config, telemetry)
    _run(service.run, supervised_by)


def worker(
    *,
    storage: Databases,
    queue: Queue = None,
    concurrency: Concurrency = _DEFAULTS.concurrency,
    grace: Grace = _DEFAULTS.grace_s,
    beat: Beat = _DEFAULTS.beat_s,
    lease: Lease = _DEFAULTS.lease_s,
    verbose: Verbose = False,
    worker_id: Annotated[str | None, typer.Option("--id", hidden=True)] = None,
    replaces: Annotated[list[str] | None, typer.Option(hidden=True)] = None,
    supervised_by: SupervisedBy = None,
) -> None:
    """Run a worker alone."""
    from duly import wiring

    config = _config(
        **storage.settings(),
        queues=_queues(queue),
        concurrency=concurrency,
        grace_s=grace,
        beat_s=beat,
        lease_s=lease,
    )
    telemetry = _telemetry("worker", verbose=verbose)
    identity = worker_id or wiring.new_worker_id()
    with _told():
        wiring.prepare(config)
        asyncio.run(wiring.check_databases(config))
        service = wiring.build_worker(
            config, telemetry, worker_id=identity, replaces=tuple(replaces or ())
        )
    telemetry.say("working", id=identity, queues=",".join(config.queues))
    _run(service.run, supervised_by)


def migrate(storage: Databases) -> None:
    """Make the tables of this version, or bring those of an older one up to it.

    Of several that run at once one does it. `duly up` does the same by itself.
    """
    from duly import wiring

    config = _config(**storage.settings())
    with _told():
        wiring.prepare(config)
        done = asyncio.run(wiring.migrate(config))
    for place, before, after in done:
        change = "is up to date at" if before == after else f"went from version {before} to"
        typer.echo(f"{place} {change} version {after}")
    if not done:
        typer.echo(f"SQLite in {config.data.resolve()} is up to date")


def _run(service: Callable[[Any], Awaitable[None]], supervised_by: int | None) -> None:
    """Run a service until SIGINT or SIGTERM; a second one stops it at once."""
    from duly.services.loop import Stop

    # What was loaded stays: the collector need not look through it again, nor so often at values
    # that live as long as a batch. Saves a busy worker 5 of 30 us a run.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)

    async def main() -> None:
        stop = Stop()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.ask)
        watcher = None
        if supervised_by is not None:
            watcher = asyncio.create_task(_stop_with_parent(supervised_by, stop))
        await service(stop)
        if watcher is not None:
            watcher.cancel()

    with _told():
        asyncio.run(main())


async def _stop_with_parent(parent: int, stop: Any) -> None:
    """Without its supervisor nobody would end a role; it stops by itself."""
    while os.getppid() == parent:  # noqa: ASYNC110 - no event tells of a parent's death
        await asyncio.sleep(0.5)
    stop.ask()


class _told:  # noqa: N801 - reads as a phrase
    """Errors that Duly raises on purpose are told in one line, without a traceback."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, DulyError):
            typer.echo(f"duly: {error}", err=True)
            raise typer.Exit(2) from error


def _config(**settings: Any) -> Config:
    with _told():
        return Config(**settings)


def _queues(queue: list[str] | None) -> tuple[str, ...]:
    return tuple(queue) if queue else _DEFAULTS.queues


def _clock() -> Any:
    from duly.clock import SystemClock

    return SystemClock()


def _telemetry(role: str, *, verbose: bool) -> Any:
    from duly.telemetry import Telemetry, logger

    return Telemetry(logger(role), verbose=verbose)
