"""From configuration to objects: the only place that knows which back ends there are."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from duly.archive import Archive
from duly.backends.file_lease import FileLease
from duly.backends.process import ProcessExecutor
from duly.backends.sqlite import SqliteJobStore, SqliteRunStore
from duly.clock import AnchoredClock, SystemClock
from duly.config import Config, named_commands
from duly.errors import InvalidConfig
from duly.executor import NamedCommands
from duly.lease import Lease
from duly.services.scheduler import Scheduler
from duly.services.worker import Worker
from duly.store import JobStore, RunStore, WorkerInfo
from duly.telemetry import Telemetry

if TYPE_CHECKING:
    from fastapi import FastAPI

_API_CONNECTIONS = 8
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def prepare(config: Config) -> None:
    """Make the data folder and, once in its life, the admin token that only its owner can read."""
    try:
        config.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make_token(config.token_file)
    except OSError as error:
        raise InvalidConfig(
            f"the data folder {config.data} cannot be used: {error.strerror}; "
            "choose another with --data"
        ) from error


async def migrate(config: Config) -> list[tuple[str, int, int]]:
    """Bring both databases to this Duly's version: for each its address, and both versions.

    Raises:
        UnknownSchema: a newer Duly made the tables.
        StoreUnavailable: no answer.
    """
    if config.jobs_url is None or config.runs_url is None:
        # SQLite brings its files up to date whenever it opens them.
        for store in (open_jobs(config), open_runs(config)):
            await store.close()
        return []
    from duly.backends import postgres

    return [
        (f"{part} in {postgres.hide_password(url)}", *await postgres.migrate(url, part))
        for part, url in (("jobs", config.jobs_url), ("runs", config.runs_url))
    ]


async def check_databases(config: Config) -> None:
    """Whether a role can start on them.

    Raises:
        UnknownSchema: the tables are not those that this Duly knows; says what to run.
        StoreUnavailable: no answer.
    """
    if config.jobs_url is None or config.runs_url is None:
        return
    from duly.backends import postgres

    for part, url in (("jobs", config.jobs_url), ("runs", config.runs_url)):
        database = postgres.Database(url, part, size=1)
        try:
            await database.check()
        finally:
            await database.close()


def where_data_lies(config: Config) -> str:
    """For people: the folder, or the databases without their passwords."""
    if config.jobs_url is None or config.runs_url is None:
        return str(config.data.resolve())
    from duly.backends.postgres import hide_password

    places = dict.fromkeys(map(hide_password, (config.jobs_url, config.runs_url)))
    return " and ".join(places)


def read_token(config: Config) -> str:
    """The admin token. Raises InvalidConfig where it is missing or empty."""
    try:
        token = config.token_file.read_text("utf-8").strip()
    except OSError as error:
        raise InvalidConfig(f"cannot read the token {config.token_file}: {error}") from error
    if not token:
        raise InvalidConfig(f"{config.token_file} is empty; remove it, and a new one is made")
    return token


def open_jobs(config: Config, *, connections: int = 2) -> JobStore:
    if config.jobs_url is None:
        return SqliteJobStore(config.jobs_db, SystemClock())
    from duly.backends import postgres

    database = postgres.Database(config.jobs_url, "jobs", size=connections)
    return postgres.PostgresJobStore(database, local=SystemClock())


def open_runs(config: Config, *, connections: int = 2) -> RunStore:
    if config.runs_url is None:
        return SqliteRunStore(config.runs_db, SystemClock())
    from duly.backends import postgres

    database = postgres.Database(config.runs_url, "runs", size=connections)
    return postgres.PostgresRunStore(database, local=SystemClock())


def open_archive(config: Config) -> Archive | None:
    """Raises InvalidConfig: it is none, or cannot be used without a package."""
    if config.archive is None:
        return None
    try:
        from duly.backends.parquet import ParquetArchive
    except ImportError as error:
        raise InvalidConfig(
            f"an archive needs the package pyarrow ({error}); install duly[archive]"
        ) from error
    return ParquetArchive(config.archive)


def open_lease(config: Config, holder: str) -> Lease:
    if config.jobs_url is None:
        return FileLease(config.leader_file)
    from duly.backends import postgres

    return postgres.PostgresLease(
        postgres.Database(config.jobs_url, "jobs", size=1),
        SystemClock(),
        name="plan",
        holder=holder,
        length_s=config.leader_lease_s,
    )


def build_api(config: Config, *, allowed_hosts: Sequence[str]) -> FastAPI:
    # Loading the web framework takes a second; a worker that is started again has better to do.
    from duly.api import create_app

    return create_app(
        jobs=open_jobs(config, connections=_API_CONNECTIONS),
        runs=open_runs(config, connections=_API_CONNECTIONS),
        archive=open_archive(config),
        clock=AnchoredClock(),
        token=read_token(config),
        allowed_hosts=[*_LOOPBACK, config.host, *allowed_hosts],
    )


def build_scheduler(config: Config, telemetry: Telemetry) -> Scheduler:
    name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    return Scheduler(
        open_jobs(config),
        open_runs(config),
        open_lease(config, name),
        open_archive(config),
        telemetry,
        name=name,
        horizon=timedelta(seconds=config.horizon_s),
        batch=config.planned_at_a_time,
        lease_s=config.lease_s,
        keep=timedelta(days=config.keep_days),
    )


def build_worker(
    config: Config, telemetry: Telemetry, *, worker_id: str, replaces: tuple[str, ...]
) -> Worker:
    clock = AnchoredClock()
    return Worker(
        open_jobs(config),
        open_runs(config),
        open_runs(config, connections=1),
        ProcessExecutor(_CommandsFile(config.worker_file), clock),
        clock,
        telemetry,
        info=WorkerInfo(
            id=worker_id,
            host=socket.gethostname(),
            pid=os.getpid(),
            queues=config.queues,
            concurrency=config.concurrency,
            started_at=clock.now(),
            beat_at=clock.now(),
        ),
        beat_s=config.beat_s,
        lease_s=config.lease_s,
        grace_s=config.grace_s,
        replaces=replaces,
    )


def new_worker_id() -> str:
    """A name that no worker had before."""
    return f"{socket.gethostname()}-{secrets.token_hex(4)}"


def listen(config: Config) -> socket.socket:
    """The API's listening socket. Raises InvalidConfig where the address cannot be had."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            config.host, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, proto)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        raise InvalidConfig(
            f"cannot listen on {config.host} port {config.port}: {error.strerror}; "
            "another Duly may be running there: stop it, or choose another with --port"
        ) from error
    return listener


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _CommandsFile:
    """The worker's named commands, read again whenever the file has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_at: int | None = None
        self._commands = NamedCommands({}, str(path))

    def __call__(self) -> NamedCommands:
        try:
            changed_at = self._path.stat().st_mtime_ns
            if changed_at != self._read_at:
                self._commands = named_commands(self._path.read_text("utf-8"), str(self._path))
                self._read_at = changed_at
        except FileNotFoundError:
            return NamedCommands({}, str(self._path))
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidConfig(f"{self._path} cannot be read: {error}") from error
        return self._commands


def _make_token(path: Path) -> None:
    if path.exists():
        return
    # Written whole under another name, then linked: no one ever reads half a token.
    draft = path.with_name(f".token-{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"duly_{secrets.token_urlsafe(32)}\n")
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()
