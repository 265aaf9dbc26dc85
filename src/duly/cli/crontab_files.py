"""From what was named on the command line to crontabs: which files, whose, in which format.

Reads files and nothing else. A user's crontab has no user column; a system crontab has one.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from duly.cli.exits import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

STDIN = "-"
_SYSTEM_FOLDER = Path("/etc/cron.d")
_SYSTEM_FILE = Path("/etc/crontab")
_SPOOLS = (Path("/var/spool/cron/crontabs"), Path("/var/spool/cron"))
# cron(8): files with other characters (a dot: foo.dpkg-old, .placeholder) are not run.
_RUN_BY_CRON = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class CrontabFile:
    """A crontab's text and what its place says about it.

    Args:
        path: absolute, or "-" for standard input.
        text: bytes that are no UTF-8 stand in it as lone surrogates.
        system: whether its lines have a user column.
        user: whose crontab it is, where its lines do not say; None is the worker's own user.
    """

    path: str
    text: str
    system: bool
    user: str | None

    @property
    def source(self) -> str:
        """What its jobs carry as `source`, so that a later import finds them."""
        if self.path == STDIN and self.user:
            return f"crontab:-:{self.user}"
        return f"crontab:{self.path}"

    @property
    def label(self) -> str:
        """How its jobs' names begin."""
        if self.path == STDIN:
            return f"crontab-{self.user}" if self.user else "crontab"
        path = Path(self.path)
        if path.parent in _SPOOLS:
            return f"crontab-{path.name}"
        return f"cron.d-{path.name}" if path.parent.name == "cron.d" else path.name


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that was not read, and why."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Collected:
    """The crontabs to import.

    Args:
        files: those read, in order.
        skipped: those that cron would not run either.
        unreadable: those that cron would run and that could not be read here.
        folders: those named, whose files may have gone since the last import.
    """

    files: tuple[CrontabFile, ...]
    skipped: tuple[LeftOut, ...] = ()
    unreadable: tuple[LeftOut, ...] = ()
    folders: tuple[str, ...] = ()

    def lost(self, source: str) -> str | None:
        """The path of a crontab that was in one of the folders and is no more, by its source."""
        path = source.removeprefix("crontab:")
        there = {file.path for file in self.files} | {left.path for left in self.unreadable}
        if path == source or path in there or str(Path(path).parent) not in self.folders:
            return None
        return path


def collect(
    names: Sequence[str], *, system: bool, user: str | None, read_stdin: Callable[[], bytes]
) -> Collected:
    """Read all the crontabs that `names` stand for. Raises InvalidInput for a name that is none."""
    files: dict[str, CrontabFile] = {}
    skipped: dict[str, LeftOut] = {}
    unreadable: dict[str, LeftOut] = {}
    folders: list[str] = []
    for name in names:
        if name == STDIN:
            files[STDIN] = CrontabFile(STDIN, _text(read_stdin()), system, user)
            continue
        # Not resolved: the jobs' source is the path that people know, also where it is a link.
        path = Path(os.path.abspath(name))  # noqa: PTH100
        if not path.is_dir():
            files[str(path)] = _read_named(path, system=system, user=user)
            continue
        folders.append(str(path))
        for entry in _entries(path):
            if reason := _not_run(path, entry):
                skipped[str(entry)] = LeftOut(str(entry), reason)
                continue
            try:
                files[str(entry)] = _read(entry, system=path not in _SPOOLS, user=user)
            except OSError as error:
                unreadable[str(entry)] = LeftOut(str(entry), f"cannot be read: {error.strerror}")
    return Collected(
        tuple(files.values()), tuple(skipped.values()), tuple(unreadable.values()), tuple(folders)
    )


def machine_zone(
    variable: str | None, *, known: Callable[[str], bool], root: Path = Path("/")
) -> tuple[str, str]:
    """The zone that this machine's cron runs in, and where that is written."""
    candidates = (
        ((variable or "").removeprefix(":"), "TZ"),
        (_first_word(root / "etc/timezone"), "/etc/timezone"),
        (_link_zone(root / "etc/localtime"), "/etc/localtime"),
    )
    for name, origin in candidates:
        if name and known(name):
            return name, origin
    return "UTC", "this machine names no zone"


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise InvalidInput(f"cannot read {folder}: {error.strerror}") from error


def _not_run(folder: Path, entry: Path) -> str | None:
    """Why cron does not run this entry of its folder, or None where it does."""
    if entry.is_dir():
        return "a folder"
    if entry.exists() and not entry.is_file():
        return "no regular file"
    if folder in _SPOOLS:
        return "no user's crontab" if entry.name.startswith((".", "tmp.")) else None
    if _RUN_BY_CRON.fullmatch(entry.name):
        return None
    return "cron runs only files whose names are of letters, digits, _ and -"


def _read_named(path: Path, *, system: bool, user: str | None) -> CrontabFile:
    by_place = path == _SYSTEM_FILE or _SYSTEM_FOLDER in path.parents
    try:
        return _read(path, system=system or by_place, user=user)
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from error


def _read(path: Path, *, system: bool, user: str | None) -> CrontabFile:
    owner = path.name if path.parent in _SPOOLS else None
    return CrontabFile(str(path), _text(path.read_bytes()), system, user or owner)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _first_word(path: Path) -> str:
    try:
        words = path.read_text("utf-8").split()
    except (OSError, UnicodeDecodeError):
        return ""
    return words[0] if words else ""


def _link_zone(path: Path) -> str:
    """The zone's name at the end of `/etc/localtime -> /usr/share/zoneinfo/Europe/Paris`."""
    try:
        target = os.readlink(path)  # noqa: PTH115 - the link's text, links behind it unfollowed
    except OSError:
        return ""
    return target.partition("zoneinfo/")[2]
