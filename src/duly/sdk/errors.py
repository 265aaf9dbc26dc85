"""What can go wrong between a client and the API.

They stand here and not in `duly.errors` because no part of the server can raise them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from duly.errors import DulyError

if TYPE_CHECKING:
    from collections.abc import Mapping


class ServerUnreachable(DulyError):
    """No server answers."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"no server answers at {url} ({reason}); start it with `duly up`")
        self.url = url


class NotDuly(ServerUnreachable):
    """Something answers, and it is not Duly's API."""

    def __init__(self, url: str, reason: str) -> None:
        DulyError.__init__(
            self, f"what answers at {url} is not Duly ({reason}); name the server with --server"
        )
        self.url = url


class ApiError(DulyError):
    """The API refused a request.

    Args:
        status: the HTTP status.
        problem: the problem document (RFC 9457) as the API sent it.
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(_told(status, problem))
        self.status = status
        self.problem = dict(problem)


def _told(status: int, problem: Mapping[str, Any]) -> str:
    """Title and detail in one line, each further error in its own."""
    text = str(problem.get("detail") or problem.get("title") or f"HTTP status {status}")
    errors = problem.get("errors")
    if not isinstance(errors, list):
        return text
    lines = [
        f"  {e.get('pointer') or e.get('parameter') or '/'}: {e.get('detail')}"
        for e in errors
        if isinstance(e, dict) and e.get("detail") and e["detail"] not in text
    ]
    return "\n".join([text, *lines])
