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

from duly.backends.file_lease import FileLease
from duly.backends.process import ProcessExecutor
from duly.backends.sqlite import SqliteJobStore, SqliteRunStore
from duly.clock import SystemClock
from duly.config import Config, named_commands
from duly.errors import InvalidConfig
from duly.executor import NamedCommands
from duly.services.scheduler import Scheduler
from duly.services.worker import Worker
from duly.store import JobStore, RunStore, WorkerInfo
from duly.telemetry import Telemetry

if TYPE_CHECKING:
    from fastapi import FastAPI

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


async def make_databases(config: Config) -> None:
    """Make or migrate the databases, so that roles started together find them ready.

    Raises:
        UnknownSchema, StoreUnavailable: better told once, by `duly up`, than by each role.
    """
    for store in (open_jobs(config), open_runs(config)):
        await store.close()


def read_token(config: Config) -> str:
    """The admin token. Raises InvalidConfig where it is missing or empty."""
    try:
        token = config.token_file.read_text("utf-8").strip()
    except OSError as error:
        raise InvalidConfig(f"cannot read the token {config.token_file}: {error}") from error
    if not token:
        raise InvalidConfig(f"{config.token_file} is empty; remove it, and a new one is made")
    return token


def open_jobs(config: Config) -> JobStore:
    return SqliteJobStore(config.jobs_db, SystemClock())


def open_runs(config: Config) -> RunStore:
    return SqliteRunStore(config.runs_db, SystemClock())


def build_api(config: Config, *, allowed_hosts: Sequence[str]) -> FastAPI:
    # Loading the web framework takes a second; a worker that is started again has better to do.
    from duly.api import create_app

    return create_app(
        jobs=open_jobs(config),
        runs=open_runs(config),
        clock=SystemClock(),
        token=read_token(config),
        allowed_hosts=[*_LOOPBACK, config.host, *allowed_hosts],
    )


def build_scheduler(config: Config, telemetry: Telemetry) -> Scheduler:
    return Scheduler(
        open_jobs(config),
        open_runs(config),
        FileLease(config.leader_file),
        telemetry,
        name=f"{socket.gethostname()}-{os.getpid()}",
        horizon=timedelta(seconds=config.horizon_s),
        batch=config.batch,
        lease_s=config.lease_s,
    )


def build_worker(
    config: Config, telemetry: Telemetry, *, worker_id: str, replaces: tuple[str, ...]
) -> Worker:
    clock = SystemClock()
    return Worker(
        open_jobs(config),
        open_runs(config),
        open_runs(config),
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
