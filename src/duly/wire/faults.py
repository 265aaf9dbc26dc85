"""What is wrong with a body, told so that a person can mend it.

pydantic finds the faults; this file says them in plain sentences, each with a JSON pointer
(RFC 6901) to the value at fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from duly.errors import InvalidJob

# Names that tell the forms of a field apart ("name" or {"exec": …}); no part of any pointer.
FORMS = ("form:text", "form:object")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong, where it stands and what would be right."""

    pointer: str
    detail: str


class InvalidBody(InvalidJob):
    """The body is not what it should be; `faults` names all that is wrong, not only the first."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        told = [
            f"{fault.pointer}: {fault.detail}" if fault.pointer else fault.detail
            for fault in faults[:3]
        ]
        more = [f"and {len(faults) - 3} more"] if len(faults) > 3 else []
        super().__init__("; ".join(told + more), pointer=faults[0].pointer)
        self.faults = tuple(faults)


def pointer(path: Sequence[str | int]) -> str:
    """A JSON pointer from the steps of a path.

    >>> pointer(["command", "env", "A/B"])
    '/command/env/A~1B'
    """
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def kind_of(value: object) -> str:
    """What a JSON value is, in words.

    >>> kind_of("5"), kind_of(True), kind_of(None)
    ('the string "5"', 'true', 'null')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'the string "{value}"' if len(value) <= 40 else "a string"
    if isinstance(value, int | float):
        text = str(value) if isinstance(value, float) or abs(value) < 10**20 else ""
        return f"the number {text}" if text else "a huge number"
    return "a list" if isinstance(value, list | tuple) else "an object"


def quoted(text: str) -> str:
    """A text as a fault shows it, cut short where it is long."""
    return f'"{text}"' if len(text) <= 100 else f'"{text[:100]}…"'


def faults_of(error: ValidationError, known: Sequence[str]) -> list[Fault]:
    """All faults that pydantic found. `known` are the fields that the body may have."""
    return [fault_of(each, known) for each in error.errors(include_url=False)]


def fault_of(error: Mapping[str, Any] | ErrorDetails, known: Sequence[str] = ()) -> Fault:
    """One of pydantic's errors as a fault."""
    path = [step for at, step in enumerate(error["loc"]) if at != 1 or step not in FORMS]
    if path and path[-1] == "[key]":
        path.pop()
    return Fault(pointer(path), sentence_of(error, known))


def sentence_of(error: Mapping[str, Any] | ErrorDetails, known: Sequence[str] = ()) -> str:
    """What one of pydantic's errors says, in plain words."""
    kind, value, context = error["type"], error["input"], error.get("ctx") or {}
    if kind == "extra_forbidden":
        return _unknown(str(error["loc"][-1]), known if len(error["loc"]) == 1 else ())
    tell = _SENTENCES.get(kind)
    return tell(value, context) if tell else str(error["msg"])


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    told = f'; did you mean "{near[0]}"?' if near else ""
    return f"there is no such field{told}"


_Tell = Callable[[Any, Mapping[str, Any]], str]
_SENTENCES: dict[str, _Tell] = {
    "told": lambda _v, ctx: str(ctx["told"]),
    "missing": lambda _v, _ctx: "is missing",
    "string_type": lambda v, _ctx: f"must be a string, not {kind_of(v)}",
    "int_type": lambda v, _ctx: f"must be a whole number, not {kind_of(v)}",
    "int_parsing": lambda v, _ctx: f"must be a whole number, not {kind_of(v)}",
    "int_from_float": lambda v, _ctx: f"must be a whole number, not {kind_of(v)}",
    "list_type": lambda v, _ctx: f"must be a list, not {kind_of(v)}",
    "tuple_type": lambda v, _ctx: f"must be a list, not {kind_of(v)}",
    "dict_type": lambda v, _ctx: f"must be an object, not {kind_of(v)}",
    "model_type": lambda v, _ctx: f"must be an object, not {kind_of(v)}",
    "model_attributes_type": lambda v, _ctx: f"must be an object, not {kind_of(v)}",
    "literal_error": lambda v, ctx: f"must be {_quoted(ctx['expected'])}, not {kind_of(v)}",
    "greater_than_equal": lambda _v, ctx: f"must be at least {ctx['ge']}",
    "less_than_equal": lambda _v, ctx: f"must be at most {ctx['le']}",
    "string_too_short": lambda _v, _ctx: "must not be empty",
    "string_too_long": lambda _v, ctx: f"must have at most {ctx['max_length']} characters",
    "too_short": lambda _v, _ctx: "must not be empty",
    "too_long": lambda _v, ctx: f"must have at most {ctx['max_length']} items",
}


def _quoted(expected: str) -> str:
    return expected.replace("'", '"')
