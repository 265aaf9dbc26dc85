"""Commands that share options take them as one dataclass, so each option stands in one place.

    @app.command("show")
    @flat
    def show(job: JobName, view: View) -> None: ...

is to Typer a command with JOB and every field of `View` as an option of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any, get_type_hints


def flat(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of its dataclass parameters in their place."""
    hints = get_type_hints(command, include_extras=True)
    shared: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}

    @wraps(command)
    def called(**given: Any) -> None:
        for name, kind in shared.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    # What typer reads: the wrapped function's own signature names the dataclasses.
    called.__signature__ = signature(command).replace(  # type: ignore[attr-defined]
        parameters=list(_parameters(command, hints)), return_annotation=None
    )
    called.__annotations__ = {}
    del called.__wrapped__
    return called


def _parameters(command: Callable[..., None], hints: dict[str, Any]) -> Iterator[Parameter]:
    for parameter in signature(command).parameters.values():
        kind = hints[parameter.name]
        if not is_dataclass(kind):
            yield parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind)
            continue
        types = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            yield Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=_default(field),
                annotation=types[field.name],
            )


def _default(field: Field[Any]) -> Any:
    return Parameter.empty if field.default is MISSING else field.default
