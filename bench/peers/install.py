"""An environment for each peer, in `.bench-peers/` beside the project: a venv or a node_modules.

An environment that is complete and of the same pins stays as it is. pip and npm use the registries
that they are set up for.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENTS = Path(__file__).parents[2] / ".bench-peers"
_TIMEOUT_S = 600


class NotInstalled(Exception):
    """A peer's environment could not be made; the message is what pip or npm said."""


@dataclass(frozen=True, slots=True)
class Peer:
    """What to install, and which script beside this file works off how many jobs."""

    name: str
    script: str
    jobs: int
    pins: tuple[str, ...]

    @property
    def folder(self) -> Path:
        return ENVIRONMENTS / self.name

    @property
    def on_node(self) -> bool:
        return self.script.endswith(".mjs")

    @property
    def program(self) -> Path:
        return self.folder / ("node_modules/.bin/node" if self.on_node else "bin/python")


# The two on Node want 22 or later, so they bring their own.
_NODE = "node@24.11.0"
PEERS = (
    Peer(
        "graphile-worker", "graphile.mjs", 200_000, (_NODE, "graphile-worker@0.18.0", "pg@8.23.1")
    ),
    Peer("pg-boss", "pgboss.mjs", 100_000, (_NODE, "pg-boss@12.38.0", "pg@8.23.1")),
    Peer(
        "pgqueuer",
        "pgqueuer_worker.py",
        50_000,
        ("pgqueuer==1.6.0", "asyncpg==0.32.0", "uvloop==0.23.0"),
    ),
    Peer(
        "procrastinate",
        "procrastinate_worker.py",
        3_000,
        ("procrastinate==3.10.0", "psycopg[binary,pool]==3.3.9"),
    ),
    Peer(
        "apscheduler",
        "apscheduler_worker.py",
        3_000,
        # Its release forgets to ask for sniffio.
        ("apscheduler==4.0.0a6", "sqlalchemy[asyncio]==2.1.9", "asyncpg==0.32.0", "sniffio==1.3.1"),
    ),
)


def install(peer: Peer) -> None:
    """Make the environment, or leave the one that is there.

    The list of pins is written last: an interrupted installation starts anew.

    Raises:
        NotInstalled: pip or npm is missing or failed.
    """
    done = peer.folder / "installed"
    wanted = "\n".join(peer.pins) + "\n"
    if done.is_file() and done.read_text() == wanted:
        return
    shutil.rmtree(peer.folder, ignore_errors=True)
    peer.folder.mkdir(parents=True)
    if peer.on_node:
        npm = shutil.which("npm")
        if npm is None:
            raise NotInstalled("npm is not there")
        quiet = ("--no-audit", "--no-fund", "--save-exact")
        _run(npm, "install", *quiet, "--prefix", str(peer.folder), *peer.pins)
    else:
        _run(sys.executable, "-m", "venv", str(peer.folder))
        _run(str(peer.program), "-m", "pip", "install", "--quiet", *peer.pins)
    done.write_text(wanted)


def _run(*command: str) -> None:
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise NotInstalled(f"{command[0]} took longer than {_TIMEOUT_S} s") from error
    if ended.returncode != 0:
        raise NotInstalled((ended.stderr or ended.stdout).strip()[-500:])


def main() -> None:
    for peer in PEERS:
        try:
            install(peer)
        except NotInstalled as error:
            print(f"{peer.name}: not installed: {error}")
        else:
            print(f"{peer.name}: installed")


if __name__ == "__main__":
    main()
