"""Tables and lists of facts on standard output. Every cell is user text until proven otherwise."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from duly.cli.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table

_COLORS = {
    "active": "green",
    "succeeded": "green",
    "running": "cyan",
    "queued": "blue",
    "paused": "yellow",
    "skipped": "yellow",
    "canceled": "yellow",
    "dead": "red",
}
# Into a pipe or a file a row is one line, however long.
_UNBOUNDED = 100_000


def print_json(document: Any) -> None:
    """One document. In ASCII, so that nothing of it reaches a terminal as a control character."""
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Rows under a heading."""
    table = _table(show_header=True)
    for column in columns:
        table.add_column(column, overflow="fold")
    _fill(table, rows)


def print_facts(facts: Iterable[tuple[str, object]]) -> None:
    """What is known of one thing, a line each; facts without a value are left out."""
    table = _table(show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    _fill(table, [(name, value) for name, value in facts if value not in (None, "")])


def _table(*, show_header: bool) -> Table:
    from rich.table import Table  # takes long to load

    return Table(box=None, pad_edge=False, show_header=show_header, header_style="bold")


def _fill(table: Table, rows: Iterable[Sequence[object]]) -> None:
    from rich.console import Console
    from rich.text import Text

    for row in rows:
        # Text objects: rich reads no markup in them.
        table.add_row(*(Text(cell, _COLORS.get(cell, "")) for cell in map(_cell, row)))
    console = Console(width=None if sys.stdout.isatty() else _UNBOUNDED)
    if sys.stdout.isatty():
        console.print(table)
        return
    with console.capture() as capture:
        console.print(table)
    # Rich pads the last column; a pipe needs no blanks.
    for line in capture.get().splitlines():
        sys.stdout.write(line.rstrip() + "\n")


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case dict() | list():
            return one_line(json.dumps(value, ensure_ascii=False))
        case _:
            return one_line(value)
