"""A proxy that pools transactions, like PgBouncer in its transaction mode, for tests.

It speaks just enough of PostgreSQL's protocol (version 3.0): a client gets a server connection when
it sends something and gives it back when the server says that no transaction is open. Which one it
gets next is another, wherever there is a choice, so whatever a client leaves behind in a session is
not there the next time. Servers are connected without a password.
"""

from __future__ import annotations

import asyncio
import struct
import threading
from collections import deque
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_SSL_REQUEST = 80877103
_VERSION = 196608
_IDLE = b"I"


class TransactionProxy:
    """Runs in a thread of its own while its block lasts.

    Args:
        url: the database behind it.
        size: how many connections it keeps to the server.
    """

    def __init__(self, url: str, *, size: int) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 5432
        self._user, self._name = parts.username or "", parts.path.strip("/")
        self._size = size
        self._free: deque[_Server] = deque()
        self._place = asyncio.Semaphore(size)
        self._greeting = b""
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve)
        self.switches = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"postgresql://{self._user}@127.0.0.1:{self.port}/{self._name}"

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(30)

    def _serve(self) -> None:
        self._loop.run_until_complete(self._run())
        self._loop.close()

    async def _run(self) -> None:
        self._end = asyncio.Event()
        for _ in range(self._size):
            self._free.append(await self._connect())
        listener = await asyncio.start_server(self._client, "127.0.0.1", 0)
        self.port = listener.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        listener.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        for server in self._free:
            server.writer.close()

    async def _connect(self) -> _Server:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        settings = f"user\0{self._user}\0database\0{self._name}\0application_name\0proxy\0\0"
        writer.write(struct.pack("!ii", 8 + len(settings), _VERSION) + settings.encode())
        greeting = b""
        while True:
            kind, body = await _message(reader)
            if kind == b"E":
                raise ConnectionError(body)
            greeting += kind + struct.pack("!i", len(body) + 4) + body
            if kind == b"Z":
                self._greeting = greeting
                return _Server(reader, writer)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held: _Server | None = None
        last: _Server | None = None
        answering: asyncio.Task[None] | None = None
        try:
            if not await _startup(reader, writer):
                return
            writer.write(self._greeting)
            while True:
                kind, body = await _message(reader)
                if kind == b"X":
                    return
                if answering is None or answering.done():
                    await self._place.acquire()
                    held = self._free.popleft()
                    self.switches += last is not None and last is not held
                    last = held
                    answering = asyncio.create_task(self._answer(held, writer))
                assert held is not None
                held.writer.write(kind + struct.pack("!i", len(body) + 4) + body)
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            if held is not None and answering is not None and not answering.done():
                # The client left in the middle of a transaction: nobody else may go on with it.
                answering.cancel()
                held.writer.close()
                self._free.append(await self._connect())
                self._place.release()
            writer.close()

    async def _answer(self, server: _Server, writer: asyncio.StreamWriter) -> None:
        """Pass on what the server says, until no transaction is open; then it is free again."""
        while True:
            kind, body = await _message(server.reader)
            writer.write(kind + struct.pack("!i", len(body) + 4) + body)
            if kind == b"Z" and body == _IDLE:
                break
        self._free.append(server)
        self._place.release()


class _Server:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer


async def _startup(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    while True:
        (length,) = struct.unpack("!i", await reader.readexactly(4))
        body = await reader.readexactly(length - 4)
        (code,) = struct.unpack("!i", body[:4])
        if code != _SSL_REQUEST:
            return bool(code == _VERSION)
        writer.write(b"N")


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    kind = await reader.readexactly(1)
    (length,) = struct.unpack("!i", await reader.readexactly(4))
    return kind, await reader.readexactly(length - 4)
