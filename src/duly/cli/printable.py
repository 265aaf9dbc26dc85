"""Text from users made safe to print: no character of it may steer the terminal."""

from __future__ import annotations

import codecs
import unicodedata
from functools import cache

_KEPT = frozenset("\t\n")
# They reorder what follows on the screen: a command could read as another one.
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")


def one_line(text: object) -> str:
    r"""Fit for a table cell: every control character shows as a picture of itself.

    >>> one_line("a\x1b[2Jb")
    'a␛[2Jb'
    """
    return "".join(_shown(char) for char in str(text))


def lines_safe(text: str) -> str:
    """Fit for a terminal as it is: tabs and newlines stay, a CR before a newline goes."""
    text = text.replace("\r\n", "\n")
    return "".join(char if char in _KEPT else _shown(char) for char in text)


def output_safe(output: bytes) -> str:
    """A command's output fit for a terminal; bytes that are no UTF-8 show as U+FFFD."""
    return lines_safe(codecs.decode(output, "utf-8", "replace"))


@cache
def _shown(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if char in _BIDI or unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}:
        return "\ufffd"
    return char
