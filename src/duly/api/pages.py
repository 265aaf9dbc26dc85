"""Pages of a list: a bare array, and a Link header (RFC 8288) to the next one where there is one.

The cursor is the id of the page's last row, the key that the list is ordered by. Rows that arrive
while a client pages come before the first page (runs) or after the last (jobs), so none is seen
twice and none is missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from fastapi import Request, Response

from duly.api.problems import Refused
from duly.api.site import reply
from duly.wire import Json


def refuse_repeated(request: Request) -> None:
    """A parameter that comes twice has no single value. Raises Refused."""
    names = [name for name, _ in request.query_params.multi_items()]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise Refused(
            422, f"{', '.join(twice)}: give each parameter once", kind="invalid-parameter"
        )


def page(request: Request, documents: Sequence[Json], *, limit: int) -> Response:
    """Answer with the first `limit` documents; one more than that means there is a next page."""
    shown = documents[:limit]
    if len(documents) <= limit:
        return reply(shown)
    query = {**request.query_params, "after": shown[-1]["id"]}
    return reply(shown, headers={"Link": f'<{request.url.path}?{urlencode(query)}>; rel="next"'})
