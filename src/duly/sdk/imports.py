"""Many jobs as lines: cut into parts to send, and each part's answer read.

httpx sends a request whole before it reads the first byte of its answer, while the server, which
answers as it reads, waits for its reader: over a long body each would wait for the other for ever.
So a part is at most what the server registers in one transaction: it answers only once it has all.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypedDict

from duly.sdk.errors import ApiError, NotDuly

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PART_LINES = 1000
PART_BYTES = 1024 * 1024


class Imported(TypedDict, total=False):
    """What became of a line: `id` and `created`, or the problem document as `error`."""

    line: int
    id: str
    created: bool
    error: dict[str, Any]


def parts(lines: Iterable[str | bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines in order, many at a time; with each part how many lines came before it.

    No lines are one empty part: that the server cannot be asked is told all the same.
    """
    before = size = 0
    held: list[bytes] = []
    for line in _single(lines):
        if held and (len(held) == PART_LINES or size + len(line) >= PART_BYTES):
            yield before, b"\n".join(held)
            before, size = before + len(held), 0
            held = []
        held.append(line)
        size += len(line) + 1
    if held or not before:
        yield before, b"\n".join(held)


def read_answer(url: str, body: bytes, before: int) -> Iterator[Imported]:
    """What became of a part's lines, numbered through. Raises ApiError where it was broken off."""
    complete = False
    for line in body.splitlines():
        told = _read(url, line)
        if "line" in told:
            yield {**told, "line": told["line"] + before}  # type: ignore[typeddict-item]
        elif isinstance(error := told.get("error"), dict):
            raise ApiError(error.get("status", 503), error)
        else:
            complete = True
    if not complete:
        raise NotDuly(url, "its answer ends without a summary")


def _single(lines: Iterable[str | bytes]) -> Iterator[bytes]:
    for each in lines:
        # A lone surrogate goes as it is: the server tells its line that it is no UTF-8.
        raw = each.encode("utf-8", "surrogatepass") if isinstance(each, str) else each
        yield from raw.removesuffix(b"\n").split(b"\n")


def _read(url: str, line: bytes) -> dict[str, Any]:
    try:
        told = json.loads(line)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise NotDuly(url, "its answer is no lines of JSON")
    return told
