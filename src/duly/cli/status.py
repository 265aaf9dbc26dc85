"""`duly status`: how the server and its work are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from duly.cli.connection import Asked, connected
from duly.cli.options import flat
from duly.cli.tables import print_facts, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@flat
def status(asked: Asked) -> None:
    """Show how the server, its scheduler and its workers are."""
    with connected(asked) as duly:
        document = duly.status()
        if asked.as_json:
            print_json(document)
        else:
            print_facts([("server", duly.url), *_flat(document)])


def _flat(document: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of the document under its path, a list's entries one by one."""
    for name, value in document.items():
        label = f"{above}{name}".replace("_", " ")
        match value:
            case dict():
                yield from _flat(value, f"{label} ")
            case list():
                for entry in value:
                    yield label, _in_short(entry)
            case _:
                yield label, value


def _in_short(entry: object) -> object:
    if not isinstance(entry, dict):
        return entry
    return ", ".join(
        f"{name.replace('_', ' ')} {_listed(value)}"
        for name, value in entry.items()
        if value is not None
    )


def _listed(value: object) -> object:
    return " ".join(map(str, value)) if isinstance(value, list) else value
