r"""Crontabs: all of crontab(5) as Debian's cron has it, and cronie's CRON_TZ. Text in, values out.

Each line that is not blank and no comment is exactly one of: a setting, an entry, a fault. A
setting (`NAME = value`) holds for the lines below it. In a command the first `%` begins standard
input, further ones are line breaks there, and `\%` is a plain percent sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from duly.errors import InvalidSchedule
from duly.schedule import load_zone, parse

NICKNAMES = frozenset(
    ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")
)
# cron sets these from the user, and crontab(5) does not let them be set.
_NOT_SETTABLE = frozenset(("LOGNAME", "USER"))
# cronie and anacron know them; here jobs have jitter.
_WITHOUT_EFFECT = frozenset(("RANDOM_DELAY", "START_HOURS_RANGE"))


@dataclass(frozen=True, slots=True)
class CronLine:
    r"""An entry: a schedule and a command, with the settings in force at its line.

    Args:
        number: its line, from 1.
        schedule: its time fields, one space between them, or the nickname in lower case.
        timezone: the CRON_TZ in force.
        user: from the user column of a system crontab.
        shell: the command, `\%` turned into `%`.
        stdin: what comes after the first `%`, ended by one newline; None without one.
        env: the settings in force, in order, all but CRON_TZ.
        description: the comment directly above.
        alert: MAILTO: "none" where it is empty, an address, or None where it is not set.
    """

    number: int
    schedule: str
    timezone: str | None
    user: str | None
    shell: str
    stdin: str | None
    env: Mapping[str, str]
    description: str | None
    alert: str | None


@dataclass(frozen=True, slots=True)
class Fault:
    """Something about a line: why it cannot be imported, or what its author may not have meant."""

    number: int
    text: str
    message: str


@dataclass(frozen=True, slots=True)
class Crontab:
    """A crontab that has been read.

    Args:
        settings: numbers of the lines that are settings, so that nothing is unaccounted for.
    """

    lines: tuple[CronLine, ...]
    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...]
    settings: tuple[int, ...]


def read(text: str, *, system: bool) -> Crontab:
    """Read a crontab. Never raises: what cannot be read is a fault with its line.

    Args:
        text: its content; bytes that are no UTF-8 may come as surrogate escapes.
        system: whether entries have a user column, as in /etc/crontab and /etc/cron.d.
    """
    reader = _Reader(system=system)
    for number, line in _lines(text, reader):
        reader.take(number, line)
    return Crontab(
        tuple(reader.lines), tuple(reader.faults), tuple(reader.warnings), tuple(reader.settings)
    )


@dataclass(slots=True)
class _Reader:
    """What has been read, and what holds for the next line."""

    system: bool
    lines: list[CronLine] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    warnings: list[Fault] = field(default_factory=list)
    settings: list[int] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    zone: str | None = None
    bad_zone: int | None = None
    comment: list[str] = field(default_factory=list)

    def take(self, number: int, line: str) -> None:
        body = line.strip(" \t")
        if not body:
            self.comment = []
        elif body.startswith("#"):
            self._take_comment(body)
        else:
            above, self.comment = self.comment, []
            try:
                self._take_line(number, line, above)
            except _Refused as refused:
                self.faults.append(Fault(number, line, str(refused)))

    def _take_comment(self, body: str) -> None:
        told = body.lstrip("#").strip()
        if _is_prose(told):
            self.comment.append(told)

    def _take_line(self, number: int, line: str, above: list[str]) -> None:
        if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in line):
            raise _Refused("the line holds a NUL byte or bytes that are no UTF-8")
        setting = _setting(line)
        if setting is not None:
            self._take_setting(number, line, *setting)
        else:
            self._take_entry(number, line, above)

    def _take_setting(self, number: int, line: str, name: str, value: str) -> None:
        if name == "CRON_TZ":
            self._take_zone(number, value)
        elif name in _NOT_SETTABLE:
            self._warn(number, line, f"{name} cannot be set; it is that of the user")
        else:
            if name in _WITHOUT_EFFECT:
                self._warn(number, line, f"{name} has no effect here; give the jobs a jitter")
            self.env[name] = value
        self.settings.append(number)

    def _take_zone(self, number: int, value: str) -> None:
        self.bad_zone = None
        try:
            self.zone = load_zone(value).key if value else None
        except InvalidSchedule as error:
            # Running the lines below in another zone than they say would be worse than not at all.
            self.bad_zone = number
            raise _Refused(f"CRON_TZ: {error}") from error

    def _take_entry(self, number: int, line: str, above: list[str]) -> None:
        schedule, user, command = _split_entry(line, system=self.system)
        if self.bad_zone is not None:
            raise _Refused(f"its time zone, set in line {self.bad_zone}, is not known; correct it")
        try:
            parse(schedule, self.zone or "UTC")
        except InvalidSchedule as error:
            raise _Refused(str(error)) from error
        if not command.strip():
            raise _Refused(_no_command(user))
        shell, stdin = _split_command(command)
        self._warn_about(number, line, shell, stdin, plain_fields=not schedule.startswith("@"))
        mail = self.env.get("MAILTO")
        self.lines.append(
            CronLine(
                number=number,
                schedule=schedule,
                timezone=self.zone,
                user=user,
                shell=shell,
                stdin=stdin,
                env=MappingProxyType(dict(self.env)),
                description="\n".join(above) or None,
                alert="none" if mail == "" else mail,
            )
        )

    def _warn_about(
        self, number: int, line: str, shell: str, stdin: str | None, *, plain_fields: bool
    ) -> None:
        if stdin is not None and _looks_cut(shell):
            message = (
                "the % in the command begins its standard input, as crontab(5) has it, and cuts "
                r"the command short there; write \% for a percent sign"
            )
            self._warn(number, line, message)
        first = shell.split(maxsplit=1)[0] if shell.strip() else ""
        if plain_fields and re.fullmatch(r"\*(/[0-9]+)?|[0-9]{1,2}|\?", first):
            message = (
                f"the command begins with {first!r}: a crontab has five time fields, so a sixth is "
                "taken as the command"
            )
            self._warn(number, line, message)

    def _warn(self, number: int, line: str, message: str) -> None:
        self.warnings.append(Fault(number, line, message))


class _Refused(Exception):
    """This line cannot be imported, and why."""


def _lines(text: str, reader: _Reader) -> Iterator[tuple[int, str]]:
    text = text.removeprefix("\ufeff")
    if "\r\n" in text:
        reader.warnings.append(
            Fault(1, "", "the file has Windows line ends; they are left out of the commands")
        )
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if lines[-1].strip():
        message = "the last line lacks its line end; cron would refuse it, here it is read"
        reader.warnings.append(Fault(len(lines), lines[-1], message))
    yield from enumerate(lines, 1)


_QUOTED = r"\"(?P<{0}double>[^\"]*)\"|'(?P<{0}single>[^']*)'"
_SETTING = re.compile(
    rf"[ \t]*(?:{_QUOTED.format('name')}|(?P<name>[^\s=\"']+))[ \t]*=[ \t]*"
    rf"(?:(?:{_QUOTED.format('value')})[ \t]*|(?P<value>[^\"'].*?|))[ \t]*"
)
_NAMED = re.compile(r"[ \t]*(?:\"[^\"]*\"|'[^']*'|[A-Za-z_][^\s=\"']*)[ \t]*=")


def _setting(line: str) -> tuple[str, str] | None:
    """The name and value of a setting, or None where the line is none (cron's load_env)."""
    match = _SETTING.fullmatch(line)
    if match is None:
        if _NAMED.match(line):
            raise _Refused("a setting whose value opens a quote must close it, and end there")
        return None
    found = match.groupdict()
    name = _first(found, "namedouble", "namesingle", "name")
    if not name:
        raise _Refused("a setting needs a name before the =")
    return name, _first(found, "valuedouble", "valuesingle", "value")


def _first(found: Mapping[str, str | None], *names: str) -> str:
    return next((value for name in names if (value := found[name]) is not None), "")


_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\$?")


def _split_entry(line: str, *, system: bool) -> tuple[str, str | None, str]:
    """Schedule, user and command of an entry, as they stand in it."""
    # A minus before the minute tells Debian's cron not to log; the history is kept all the same.
    body = line.lstrip(" \t").removeprefix("-")
    if body.startswith("@"):
        schedule, rest = _words(body, 1)
        schedule = schedule.lower()
        if schedule == "@reboot":
            raise _Refused(
                "@reboot has no time; start such a command from the system's boot, for example a "
                "systemd unit"
            )
        if schedule not in NICKNAMES:
            raise _Refused(f"{schedule} is not known; there are {', '.join(sorted(NICKNAMES))}")
    else:
        if not (body[:1].isascii() and (body[:1].isdigit() or body[:1] in "*?/,~-")):
            word = body.split(maxsplit=1)[0]
            raise _Refused(
                f"{word!r} begins neither a setting (NAME=value) nor an entry (minute hour "
                "day-of-month month day-of-week command)"
            )
        schedule, rest = _words(body, 5)
        if len(schedule.split(" ")) < 5:
            raise _Refused("an entry has five time fields and a command; some are missing")
        schedule = schedule.lower()
    if not system:
        return schedule, None, rest
    user, rest = _words(rest, 1)
    if user and not _USER.fullmatch(user):
        raise _Refused(
            f"{user!r} stands where the user belongs; a line of a system crontab is: time fields, "
            "user, command"
        )
    return schedule, user or None, rest


def _words(text: str, amount: int) -> tuple[str, str]:
    """The first words, one space between them, and the rest without its leading blanks."""
    words = []
    for _ in range(amount):
        text = text.lstrip(" \t")
        match = re.match(r"[^ \t]+", text)
        if match is None:
            break
        words.append(match[0])
        text = text[match.end() :]
    return " ".join(words), text.lstrip(" \t")


def _no_command(user: str | None) -> str:
    if user is None:
        return "there is no command after the time fields"
    return (
        f"there is no command after the user {user!r}; if {user!r} is the command, the user column "
        "is missing"
    )


def _split_command(text: str) -> tuple[str, str | None]:
    r"""The command, and its standard input where an unescaped % begins one."""
    command, *rest = (part.replace("\\%", "%") for part in re.split(r"(?<!\\)%", text))
    if not rest:
        return command, None
    stdin = "\n".join(rest)
    return command, stdin if stdin.endswith("\n") or not stdin else stdin + "\n"


def _looks_cut(shell: str) -> bool:
    """A quote left open, or `date +` at its end: the % was meant for the command."""
    return shell.count('"') % 2 == 1 or shell.count("'") % 2 == 1 or shell.rstrip().endswith("+")


_HEADER_WORDS = frozenset(
    {"m", "min", "minute", "h", "hr", "hour", "dom", "mon", "month", "dow", "day", "week"}
    | {"of", "the", "user", "user-name", "username", "command", "cmd", "to", "be", "executed"}
)


def _is_prose(told: str) -> bool:
    """Whether a comment says something about the line below: no rule, header or retired entry."""
    if not re.search(r"[^\W_]", told):
        return False
    words = told.lower().split()
    if len(words) > 2 and all(word in _HEADER_WORDS for word in words):
        return False
    return not _is_retired_entry(told)


def _is_retired_entry(told: str) -> bool:
    first = told[:1]
    if first == "@":
        return told.split(maxsplit=1)[0].lower() in NICKNAMES | {"@reboot"}
    if not (first.isdigit() or first == "*"):
        return False
    schedule, rest = _words(told, 5)
    if not rest:
        return False
    try:
        parse(schedule)
    except InvalidSchedule:
        return False
    return True
