"""Idempotency-Key: a request that is sent again gets the first answer again.

    key known, same body ──► the stored answer, Idempotency-Replayed: true
    key known, other body ─► 422
    key being answered ────► 409, try again shortly
    key twice, or no key ──► 400
    refused with a 4xx ────► the key is not taken: send the corrected body with the same key

A key lives in a space of its own per team, method and path. The fingerprint of a body is the
SHA-256 of its canonical JSON, so spacing and the order of keys do not matter. This process tells
apart its own requests in flight; between processes the transaction of the jobs database decides.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import Request, Response

from duly.api.problems import RETRY_AFTER_S, Refused
from duly.errors import KeyReused
from duly.store import RequestKey, StoredAnswer
from duly.wire import Json, fingerprint

if TYPE_CHECKING:
    from duly.api.site import Site

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
# Visible ASCII; a comma would be two headers that a proxy has joined.
KEY = re.compile(r"[!-+\--~]{1,255}", re.ASCII)


class InFlight:
    """The keys whose requests this process is answering."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str, str], str] = {}

    @contextmanager
    def hold(self, request: RequestKey) -> Iterator[None]:
        """Hold the key meanwhile. Raises Refused (409) or KeyReused where it is held."""
        space = (request.team, request.route, request.key)
        held = self._held.get(space)
        if held is not None:
            if held != request.fingerprint:
                raise KeyReused
            raise Refused(
                409,
                "a request with this Idempotency-Key is being answered; send it again shortly",
                kind="idempotency-in-progress",
                headers={"Retry-After": str(RETRY_AFTER_S)},
            )
        self._held[space] = request.fingerprint
        try:
            yield
        finally:
            del self._held[space]


def request_key(request: Request, team: str, route: str, body: Json) -> RequestKey | None:
    """The request's key in its space, or None where it carries none. Raises Refused (400)."""
    values = request.headers.getlist(HEADER)
    if not values:
        return None
    if len(values) > 1:
        raise Refused(400, f"the request has {len(values)} {HEADER} headers; send one")
    if not KEY.fullmatch(values[0]):
        raise Refused(
            400, f"an {HEADER} has 1 to 255 visible ASCII characters, without blanks and commas"
        )
    return RequestKey(team, f"{request.method} {route}", values[0], fingerprint(body))


@dataclass(frozen=True, slots=True)
class Answered:
    """What carrying out a request came to.

    Args:
        replayed: the key had this answer already, stored by another process meanwhile.
    """

    answer: StoredAnswer
    replayed: bool = False


async def once(
    site: Site,
    key: RequestKey | None,
    act: Callable[[RequestKey | None], Awaitable[Answered]],
    *,
    again: Callable[[StoredAnswer], Awaitable[None]] | None = None,
) -> Response:
    """Answer by `act`, or with the answer that the key already has.

    Args:
        act: carries out the request and sees to it that its answer is stored under the key.
        again: called before a stored answer is given again, to complete what a crash cut short.
    """
    if key is None:
        return _response(await act(None))
    with site.in_flight.hold(key):
        stored = await site.jobs.recall(key)
        if stored is None:
            return _response(await act(key))
        if again is not None:
            await again(stored)
        return _response(Answered(stored, replayed=True))


async def remembered(site: Site, key: RequestKey | None, mine: StoredAnswer) -> Answered:
    """Store the answer under the key, if there is one; the first answer stored stands."""
    if key is None:
        return Answered(mine)
    kept = await site.jobs.remember(key, mine)
    return Answered(kept, replayed=kept != mine)


def _response(answered: Answered) -> Response:
    answer = answered.answer
    headers = {} if answer.location is None else {"Location": answer.location}
    if answered.replayed:
        headers[REPLAYED] = "true"
    return Response(
        answer.body, status_code=answer.status, headers=headers, media_type="application/json"
    )
