"""Leadership on one machine: a lock on a file, which the kernel frees when its holder dies."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO


class FileLease:
    """`Lease` for schedulers that share a folder of one machine."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    async def acquire(self) -> bool:
        if self._file is not None:
            return True
        file = self._path.open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self._file = file
        return True

    async def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
