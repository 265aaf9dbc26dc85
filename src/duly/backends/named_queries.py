"""Reads `.sql` files: one named, commented query each, under `-- name:` headers.

-- name: due_jobs
-- Active jobs that fall due, earliest first.
SELECT ...
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_HEADER = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


@cache
def load(package: str, name: str) -> dict[str, str]:
    """The queries of one file by name. Raises ValueError where two share a name."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    _, *parts = _HEADER.split(text)
    names, bodies = parts[::2], parts[1::2]
    if len(set(names)) != len(names):
        raise ValueError(f"{package}/{name} has two queries of one name")
    return {key: _strip(body) for key, body in zip(names, bodies, strict=True)}


def _strip(body: str) -> str:
    lines = (line for line in body.splitlines() if not line.lstrip().startswith("--"))
    return "\n".join(lines).strip().rstrip(";")
