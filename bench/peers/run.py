"""How fast the peers work off a full queue of no-op jobs on PostgreSQL, one after the other.

Enqueuing is not timed. Each peer's time runs from the start of its worker until its last job is
done and the database says so. Its script names the settings, the fastest found for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.harness import Figure, show
from bench.peers.install import PEERS, NotInstalled, Peer, install
from tests.postgres import Server, new_database

# Durable: fsync and synchronous_commit stay on.
SETTINGS: Mapping[str, str] = {"shared_buffers": "512MB", "max_wal_size": "4GB"}
_TIMEOUT_S = 300


async def measure(server_url: str) -> list[dict[str, Any]]:
    """A document for each peer, as its script prints it; one that failed has `error` instead."""
    return [await _measure(peer, server_url) for peer in PEERS]


async def _measure(peer: Peer, server_url: str) -> dict[str, Any]:
    try:
        await asyncio.to_thread(install, peer)
    except NotInstalled as error:
        return {"peer": peer.name, "error": f"not installed: {error}"}
    script = Path(__file__).with_name(peer.script)
    url = await new_database(server_url)
    process = await asyncio.create_subprocess_exec(
        peer.program, script, url, str(peer.jobs),
        cwd=peer.folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        out, err = await asyncio.wait_for(process.communicate(), _TIMEOUT_S)
    except TimeoutError:
        return {"peer": peer.name, "error": f"not done within {_TIMEOUT_S} s"}
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        return {"peer": peer.name, "error": err.decode(errors="replace").strip()[-500:]}
    document: dict[str, Any] = json.loads(out.splitlines()[-1])
    return document


def figures(documents: list[dict[str, Any]]) -> list[Figure]:
    return [
        Figure(
            f"{each['peer']} {each['version']}, history {each['history']}",
            each["per_s"],
            "/s",
            note=each["settings"],
        )
        for each in documents
        if "error" not in each
    ]


def run(settings: Mapping[str, str] = SETTINGS) -> list[dict[str, Any]]:
    """Measure on a server of its own."""
    server = Server("16", settings=settings)
    try:
        return asyncio.run(measure(server.start().url()))
    finally:
        server.remove()


def main() -> None:
    documents = run()
    show("Peers on PostgreSQL", figures(documents))
    for each in documents:
        if "error" in each:
            print(f"{each['peer']}: {each['error']}")


if __name__ == "__main__":
    main()
