"""`duly jobs import`: make a job of each line of a file.

Safe to stop and repeat at any point: a job with a name is found again, not made again.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import contextmanager
from stat import S_ISREG
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from duly.cli.connection import Asked, connected
from duly.cli.exits import Exit, InvalidInput, tell, told
from duly.cli.printable import lines_safe, one_line
from duly.cli.tables import print_json
from duly.errors import DulyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from duly.sdk import Client

SHOWN = 20
# Lines between two looks at how far it is; a look costs more than a line does.
_STEP = 250
_INTERRUPTED = 130
_AGAIN = "run the same command again; jobs with a name are not made twice"


class BrokenOff(DulyError):
    """The import ended before its end."""


def import_jobs(
    *,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="One job's JSON a line; - is standard input.")
    ],
    asked: Asked,
) -> None:
    """Register many jobs, each as in POST /jobs. Run it again if it breaks off."""
    with told(as_json=asked.as_json):
        source = _Source(file)
    report = _Report(file)
    broken: int | None = None
    with source, connected(asked) as duly:
        try:
            _import(duly, source, report)
        except DulyError as error:
            if not report.last:
                raise  # nothing was begun: told as of any other command
            broken = Exit.FAILED
            why = BrokenOff(f"{error}\nbroken off after line {report.last}: {_AGAIN}")
            tell(why, as_json=asked.as_json)
        except KeyboardInterrupt:
            broken = _INTERRUPTED
            sys.stderr.write(f"duly: stopped after line {report.last}: {_AGAIN}\n")
    report.end()
    if asked.as_json:
        print_json(report.summary() | {"complete": broken is None})
    else:
        sys.stdout.write(report.text())
    if broken is not None or report.failed:
        raise typer.Exit(broken or Exit.FAILED)


def _import(duly: Client, source: _Source, report: _Report) -> None:
    with _progress(source) as show:
        for number, each in enumerate(duly.import_jobs(source)):
            report.take(each)
            if number % _STEP == 0:
                show()
        show()


class _Source:
    """The file's lines, and how far it is read.

    Raises:
        InvalidInput: it cannot be opened.
    """

    def __init__(self, name: str) -> None:
        try:
            # Left open: this object is the `with` that closes it.
            self._file: BinaryIO = sys.stdin.buffer if name == "-" else open(name, "rb")  # noqa: PTH123, SIM115
        except OSError as error:
            raise InvalidInput(f"{name}: {error.strerror}") from error
        self._own = name != "-"
        self.bytes = self.lines = 0
        self.size = self._size()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        if self._own:
            self._file.close()

    def __iter__(self) -> Iterator[bytes]:
        from duly.wire.lines import MOST_BYTES  # takes long to load

        # Of a line that is too long only enough is sent to be told that it is.
        most = MOST_BYTES + 2
        while line := self._file.readline(most):
            self.bytes += len(line)
            self.lines += 1
            rest = line
            while len(rest) == most and not rest.endswith(b"\n"):
                rest = self._file.readline(most)
                self.bytes += len(rest)
            yield line

    def _size(self) -> int | None:
        """The size in bytes of a file that has one."""
        if not self._own:
            return None
        status = os.fstat(self._file.fileno())
        return status.st_size if S_ISREG(status.st_mode) else None


class _Report:
    """What became of the lines. The first that failed are told at once, the others counted."""

    def __init__(self, file: str) -> None:
        self._file = one_line(file)
        self._tally: Counter[str] = Counter()
        self.last = 0

    @property
    def failed(self) -> int:
        return self._tally["failed"]

    def take(self, told: Any) -> None:
        self.last = told["line"]
        if "error" not in told:
            self._tally["created" if told["created"] else "existing"] += 1
            return
        self._tally["failed"] += 1
        if self.failed <= SHOWN:
            from duly.sdk import ApiError  # loaded with the client

            message = str(ApiError(told["error"].get("status", 0), told["error"]))
            sys.stderr.write(f"{self._file}:{self.last}: {lines_safe(message)}\n")

    def end(self) -> None:
        if self.failed > SHOWN:
            sys.stderr.write(f"and {self.failed - SHOWN} more\n")

    def summary(self) -> dict[str, Any]:
        told = {key: self._tally[key] for key in ("created", "existing", "failed")}
        return {"lines": self._tally.total(), **told}

    def text(self) -> str:
        created, there, failed = (self._tally[key] for key in ("created", "existing", "failed"))
        return f"{created} created, {there} there already, {failed} failed\n"


@contextmanager
def _progress(source: _Source) -> Iterator[Callable[[], None]]:
    """On a terminal: how far the file is read, by its bytes, or how many lines came."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    lines = TextColumn("{task.fields[lines]:,} lines")
    by_bytes = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    columns = (lines,) if source.size is None else (*by_bytes, lines)
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=source.size, lines=0)
        yield lambda: progress.update(task, completed=source.bytes, lines=source.lines)
