"""Keeps the beginning and the end of what a command writes, in bounded memory."""

from __future__ import annotations

from duly.run import Output

# Up to here everything is kept; past it, one half from the beginning and one from the end.
LIMIT = 65_536
_HALF = LIMIT // 2


class OutputKeeper:
    """Takes bytes as they come; any bytes, any amount.

    >>> keeper = OutputKeeper()
    >>> keeper.write(b"hello")
    >>> keeper.kept()
    Output(head=b'hello', tail=b'', dropped=0)
    """

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def write(self, chunk: bytes) -> None:
        self._total += len(chunk)
        room = LIMIT - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:] if room > 0 else chunk
        # Cut rarely, so that a flood costs one copy for each half, not one for each chunk.
        if len(self._tail) > LIMIT:
            del self._tail[:-_HALF]

    def kept(self) -> Output | None:
        """What to store; None where nothing was written."""
        if self._total == 0:
            return None
        if self._total <= LIMIT:
            return Output(bytes(self._head))
        head = bytes(self._head[:_HALF])
        tail = bytes((self._head[_HALF:] + self._tail)[-_HALF:])
        return Output(head, tail, self._total - len(head) - len(tail))
