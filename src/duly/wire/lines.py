"""Lines out of a stream of bytes, however it was cut into pieces."""

from __future__ import annotations

from collections.abc import Iterator

MOST_BYTES = 256 * 1024


class Lines:
    r"""Cuts pieces into lines; holds no more than the beginning of one line.

    A line of more than `MOST_BYTES` comes as None, and its bytes are kept nowhere.

    >>> lines = Lines()
    >>> [*lines.cut(b"a"), *lines.cut(b"b\n\nc"), *lines.end()]
    [b'ab', b'', b'c']
    """

    def __init__(self) -> None:
        self._begun = bytearray()
        self._too_long = False

    def cut(self, piece: bytes) -> Iterator[bytes | None]:
        """The lines that this piece ends."""
        *ended, rest = piece.split(b"\n")
        for each in ended:
            if self._begun or self._too_long or len(each) > MOST_BYTES:
                self._keep(each)
                yield self._take()
            else:
                yield each
        self._keep(rest)

    def end(self) -> Iterator[bytes | None]:
        """The last line, where no line break ended it."""
        if self._begun or self._too_long:
            yield self._take()

    def _keep(self, piece: bytes) -> None:
        if self._too_long or len(self._begun) + len(piece) > MOST_BYTES:
            self._too_long = True
            self._begun.clear()
        else:
            self._begun += piece

    def _take(self) -> bytes | None:
        line = None if self._too_long else bytes(self._begun)
        self._begun.clear()
        self._too_long = False
        return line
