"""A plain reader of crontab files, the judge of the importer: the lines that run something.

It knows what crontab(5) says of the files of packages and no more: comments, blank lines and
`NAME=value` are passed over; five fields or an `@nickname`; in a system crontab the user; the
rest of the line, to the letter, is the command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DEBIAN = Path(__file__).parent.parent / "data" / "debian"
# The one file there that is a user's own crontab, without the column of users.
USER_CRONTABS = {DEBIAN / "sysstat" / "crontab"}

SETTING = re.compile(r"[ \t]*[A-Za-z_]\w*[ \t]*=")
SCHEDULE = re.compile(r"[ \t]*(@\w+|\S+(?:[ \t]+\S+){4})[ \t]+")
USER = re.compile(r"(\S+)[ \t]+")


@dataclass(frozen=True)
class CrontabLine:
    file: Path
    number: int
    schedule: str
    user: str | None
    command: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(DEBIAN)}:{self.number}"


def lines_of(file: Path) -> Iterator[CrontabLine]:
    text = file.read_text(encoding="utf-8")
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#") or SETTING.match(line):
            continue
        schedule = SCHEDULE.match(line)
        assert schedule, f"{file}:{number} is not a line of a crontab"
        rest = line[schedule.end() :]
        user = None if file in USER_CRONTABS else USER.match(rest)
        yield CrontabLine(
            file=file,
            number=number,
            schedule=schedule[1],
            user=user[1] if user else None,
            command=rest[user.end() :] if user else rest,
        )


def debian_files() -> list[Path]:
    return sorted(file for file in DEBIAN.glob("*/*") if file.is_file())


def debian_lines() -> list[CrontabLine]:
    return [line for file in debian_files() for line in lines_of(file)]
