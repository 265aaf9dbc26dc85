"""JSON text, read strictly and written compactly.

Refused: what no two readers agree on (NaN, lone surrogates, text that is not UTF-8) and what only
attacks send (nesting deeper than 200, numbers of thousands of digits).
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic_core import from_json

from duly.errors import InvalidJob

# Whatever a JSON text can hold.
Json = Any


class MalformedJson(InvalidJob):
    """The body is not JSON that Duly reads."""


def read_json(body: bytes) -> Json:
    """The value of a JSON text. Raises MalformedJson."""
    if not body.strip():
        raise MalformedJson("the body is empty; send a JSON object")
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedJson(f"the body is not UTF-8 (byte {error.start})") from error
    try:
        return from_json(body, allow_inf_nan=False, cache_strings="keys")
    except ValueError as error:
        raise MalformedJson(f"the body is not valid JSON: {_told(str(error))}") from error


def write_json(value: Json) -> bytes:
    """Compact UTF-8. A lone surrogate that an operating system handed us becomes its escape."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    # For surrogates `backslashreplace` writes \udc80, which is just how JSON escapes them.
    return text.encode("utf-8", "backslashreplace")


def fingerprint(value: Json) -> str:
    """The same for equal JSON values, however they are spaced and their keys ordered."""
    canonical = json.dumps(value, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def merged(target: Json, patch: Json) -> Json:
    """A JSON merge patch (RFC 7396) applied: null removes, objects merge, the rest replaces.

    >>> merged({"cwd": "/", "env": {"A": "1"}}, {"cwd": None, "env": {"B": "2"}})
    {'env': {'A': '1', 'B': '2'}}
    """
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def _told(error: str) -> str:
    if "hex escape" in error:
        return f"{error} (a \\u escape of a surrogate needs its other half)"
    return error
