"""The configuration: one frozen object, checked once, passed on explicitly.

The environment is read by whoever calls `default_data_dir`, nowhere else.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duly.errors import InvalidConfig
from duly.executor import NamedCommands
from duly.job import Command

DEFAULT_PORT = 7437


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that can be set.

    Args:
        data: the folder of the token, the worker's commands and, on SQLite, the databases.
        jobs_url, runs_url: addresses of PostgreSQL databases; None: SQLite.
        archive: folder or `s3://bucket/prefix` that old history moves to; None: it stays.
        keep_days: history younger than this stays in the runs database.
        host, port: where the API listens; port 0 takes a free one.
        horizon_s: how far ahead runs are planned.
        batch: jobs planned at a time; None: as many as suit the engine. On SQLite few enough that
            their lock delays no claim.
        queues: the queues that the worker serves.
        concurrency: commands that the worker runs at once.
        grace_s: how long commands may go on after a stop was asked for.
        beat_s: how often the worker renews its lease.
        lease_s: how long a silent worker keeps its runs.
        leader_lease_s: how long a silent scheduler keeps its leadership (on PostgreSQL; on one
            machine the kernel knows at once).
    """

    data: Path
    jobs_url: str | None = None
    runs_url: str | None = None
    archive: str | None = None
    keep_days: int = 35
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    horizon_s: float = 15.0
    batch: int | None = None
    queues: tuple[str, ...] = ("default",)
    concurrency: int = 256
    grace_s: float = 30.0
    beat_s: float = 30.0
    lease_s: float = 120.0
    leader_lease_s: float = 5.0

    def __post_init__(self) -> None:
        if (self.jobs_url is None) != (self.runs_url is None):
            raise InvalidConfig("name both databases, or neither: jobs_url and runs_url")
        if self.keep_days < 1:
            raise InvalidConfig(f"keep {self.keep_days} is below 1 day")
        if not 0 <= self.port <= 65535:
            raise InvalidConfig(f"port {self.port} is not between 0 and 65535")
        if self.beat_s * 2 > self.lease_s:
            raise InvalidConfig(
                f"a lease of {self.lease_s:g} s cannot be kept by a renewal every "
                f"{self.beat_s:g} s; make the lease at least twice as long"
            )
        if self.concurrency < 1:
            raise InvalidConfig(f"concurrency {self.concurrency} is below 1")
        if not self.queues:
            raise InvalidConfig("a worker needs at least one queue")

    @property
    def planned_at_a_time(self) -> int:
        return self.batch or (2000 if self.jobs_url is None else 5000)

    @property
    def jobs_db(self) -> Path:
        return self.data / "jobs.db"

    @property
    def runs_db(self) -> Path:
        return self.data / "runs.db"

    @property
    def token_file(self) -> Path:
        return self.data / "token"

    @property
    def address_file(self) -> Path:
        return self.data / "address"

    @property
    def leader_file(self) -> Path:
        return self.data / "leader.lock"

    @property
    def worker_file(self) -> Path:
        return self.data / "worker.toml"


def default_data_dir(environ: Mapping[str, str]) -> Path:
    """DULY_DATA, else `duly` in the user's data folder (XDG base directory specification)."""
    if environ.get("DULY_DATA"):
        return Path(environ["DULY_DATA"])
    share = environ.get("XDG_DATA_HOME") or str(Path(environ.get("HOME", "/")) / ".local/share")
    return Path(share) / "duly"


_COMMAND_KEYS = {"exec", "shell", "cwd", "env", "stdin", "user"}


def named_commands(text: str, source: str) -> NamedCommands:
    """Read the `[commands.NAME]` tables of a worker's TOML file. Raises InvalidConfig."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidConfig(f"{source}: {error}") from error
    tables = document.get("commands", {})
    if not isinstance(tables, dict):
        raise InvalidConfig(f"{source}: write each command as a table, [commands.NAME]")
    return NamedCommands({n: _command(n, t, source) for n, t in tables.items()}, source)


def _command(name: str, table: Any, source: str) -> Command:
    where = f"{source}: [commands.{name}]"
    if not isinstance(table, dict) or len({"exec", "shell"} & table.keys()) != 1:
        raise InvalidConfig(f'{where} needs either exec = ["program", ...] or shell = "text"')
    if unknown := table.keys() - _COMMAND_KEYS:
        raise InvalidConfig(f"{where} has an unknown key {min(unknown)!r}")
    argv, env = table.get("exec"), table.get("env", {})
    if argv is not None and not (isinstance(argv, list) and argv and _texts(argv)):
        raise InvalidConfig(f"{where}: exec is a list of texts, the program first")
    if not (isinstance(env, dict) and _texts(env.values())):
        raise InvalidConfig(f"{where}: env is a table of texts")
    if not _texts(table.get(key, "") for key in ("shell", "cwd", "stdin", "user")):
        raise InvalidConfig(f"{where}: shell, cwd, stdin and user are texts")
    return Command(
        exec=None if argv is None else tuple(argv),
        shell=table.get("shell"),
        cwd=table.get("cwd"),
        env=tuple(env.items()),
        stdin=table.get("stdin"),
        user=table.get("user"),
    )


def _texts(values: Any) -> bool:
    return all(isinstance(value, str) for value in values)
