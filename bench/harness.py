"""What the benchmarks share: a place for the databases, a table, a JSON file.

Figures of one machine mean little; each benchmark therefore also measures, in the same run, the
bare work that it stands on, and the table shows the ratio.
"""

from __future__ import annotations

import json
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"


@dataclass(slots=True)
class Figure:
    """One line of the table. `bare` is the same work without Duly, in the same unit."""

    what: str
    value: float
    unit: str
    bare: float | None = None
    reach: str = ""
    note: str = ""


@dataclass(slots=True)
class Stopwatch:
    """Seconds between the start and the end of its block."""

    began: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    watch = Stopwatch()
    yield watch
    watch.seconds = time.perf_counter() - watch.began


@contextmanager
def folder() -> Iterator[Path]:
    """A fresh folder beside the project, on the disk that a user would have (no RAM disk)."""
    path = Path(tempfile.mkdtemp(prefix=".bench-", dir=RESULTS.parent.parent))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def show(title: str, figures: list[Figure]) -> None:
    """Print the table and write it as JSON."""
    table = Table(title=title)
    for column in ("what", "measured", "bare", "ratio", "to reach", "note"):
        table.add_column(column, justify="left" if column in ("what", "note") else "right")
    for each in figures:
        bare = "" if each.bare is None else f"{each.bare:,.0f}"
        ratio = "" if not each.bare else f"{each.value / each.bare:.2f}"
        shown = f"{each.value:,.1f}" if each.value < 100 else f"{each.value:,.0f}"
        table.add_row(each.what, f"{shown} {each.unit}", bare, ratio, each.reach, each.note)
    Console(width=140).print(table)
    RESULTS.mkdir(exist_ok=True)
    document = {
        "title": title,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "figures": [asdict(each) for each in figures],
    }
    name = title.lower().replace(" ", "-").replace(",", "")
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=2) + "\n")


def percentile(values: list[float], share: float) -> float:
    """The value that `share` of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
