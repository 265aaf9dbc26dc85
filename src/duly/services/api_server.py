"""The API's process: an HTTP server on a socket that is already listening."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from duly.services.loop import Stop

_GRACE_S = 5


class _Server(uvicorn.Server):
    """Signals belong to the process, which turns them into a `Stop`."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class ApiServer:
    """Serves an ASGI application until stopped; requests under way are answered."""

    def __init__(self, app: Any, listener: socket.socket) -> None:
        self._listener = listener
        self._server = _Server(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                lifespan="on",
                timeout_graceful_shutdown=_GRACE_S,
                server_header=False,
            )
        )

    async def run(self, stop: Stop) -> None:
        serving = asyncio.create_task(self._server.serve(sockets=[self._listener]))
        asked = asyncio.create_task(stop.asked.wait())
        await asyncio.wait((serving, asked), return_when=asyncio.FIRST_COMPLETED)
        self._server.should_exit = True
        await serving
        asked.cancel()
