"""Names for imported jobs: readable, from the file and the program that the line is about."""

from __future__ import annotations

import re
from itertools import dropwhile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

# Two of them, a slash and a number stay below the 200 characters that a name may have.
_LONGEST = 90
# What stands before the program that a line is about: the shell's own words ...
_KEYWORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "exec"})
# ... tests and moves ...
_GUARDS = frozenset(
    {"test", "[", "[[", "command", "type", "which", "true", ":", "cd", "umask", "set", "export"}
    | {"fi", "done", "for", ".", "source", "sleep", "echo", "date", "cat", "grep", "sed", "mkdir"}
)
# ... programs that start another one ...
_WRAPPERS = frozenset(
    {"nice", "ionice", "chrt", "env", "sudo", "su", "runuser", "setpriv", "nohup", "time"}
    | {"timeout", "flock", "chronic", "setsid", "systemd-cat", "run-parts"}
)
# ... and those whose script says more than they do.
_INTERPRETERS = re.compile(r"(?:ba|da|z|k)?sh|python[\d.]*|perl[\d.]*|php[\d.]*|ruby|node|java")
# A quoted text that holds a program of its own, as for sed or perl, and what a $(...) gives.
_PROGRAM_TEXT = re.compile(r"""'[^']*[;&|(){}][^']*'|"[^"]*[;&|(){}][^"]*\"""")
_SUBSTITUTION = re.compile(r"\$\([^()]*\)")
_SEPARATORS = re.compile(r"[;&|(){}\n`]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_UNFIT = re.compile(r"[^A-Za-z0-9._+-]+", re.ASCII)
_NUMBERED = re.compile(r"~[2-9][0-9]*$|~1[0-9]+$")


def base_name(label: str, shell: str) -> str:
    """The name for a line of the crontab `label` with this command.

    >>> base_name("cron.d-sysstat", "command -v debian-sa1 > /dev/null && debian-sa1 1 1")
    'cron.d-sysstat/debian-sa1'
    """
    return f"{_fit(label)}/{_fit(_program(shell))}"


def free_name(base: str, taken: Container[str]) -> str:
    """`base`, or `base~2`, `base~3` ... where that is taken."""
    name, count = base, 1
    while name in taken:
        count += 1
        name = f"{base}~{count}"
    return name


def without_number(name: str) -> str:
    """The base of a name that `free_name` gave."""
    return _NUMBERED.sub("", name)


def _program(shell: str) -> str:
    plain = _SUBSTITUTION.sub("", _PROGRAM_TEXT.sub("", shell))
    words_of_parts = [_without_keywords(part.split()) for part in _SEPARATORS.split(plain)]
    for words in words_of_parts:
        if words and (found := _subject(words)):
            return found
    everything = [word for words in words_of_parts for word in words]
    return _last_part(everything[0]) if everything else ""


def _without_keywords(words: list[str]) -> list[str]:
    return list(dropwhile(_KEYWORDS.__contains__, words))


def _subject(words: list[str]) -> str:
    """The first word of a simple command that names what it is about."""
    wrapped = False
    for word in words:
        bare = word.strip("\"'")
        if _ASSIGNMENT.match(bare) or bare.startswith(("-", ">", "<", "2>", "1>", "#", "$")):
            continue
        name = bare if bare in _GUARDS else _last_part(bare)
        if name in _GUARDS:
            return ""
        if name in _WRAPPERS or _INTERPRETERS.fullmatch(name):
            wrapped = True
            continue
        # `nice -n 19 prog`, `timeout 5m prog`: a number belongs to the wrapper.
        if wrapped and re.fullmatch(r"[\d.]+[smhd]?", bare):
            continue
        if name and not _UNFIT.fullmatch(name):
            return name
    return ""


def _last_part(word: str) -> str:
    return PurePosixPath(word.strip("\"'")).name


def _fit(text: str) -> str:
    return _UNFIT.sub("-", text).strip("-")[:_LONGEST] or "job"
