"""The guard: what every request must be before any route sees it.

    Host known? ─► Origin ours? ─► token right? ─► URL clean? ─► body small, and JSON?
     400 421          403             401             400           413 415 400

The body of a `STREAMED` route may be of any size: the guard looks at its type alone, and the route
reads it piece by piece.

A web page in the operator's browser can reach a server on localhost: it can post a form, or let its
own name resolve to 127.0.0.1. The token stops the first, the check of `Host` the second, and no
answer carries a CORS header. Written as plain ASGI, for it stands in the way of every request.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import unquote_to_bytes

from fastapi import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from duly.api.problems import problem
from duly.errors import InvalidConfig

MAX_BODY = 1024 * 1024
# A client that sends more than it may is read this far before its connection is closed, so that it
# gets to read the refusal instead of a reset.
_DRAIN = 8 * MAX_BODY
OPEN_PATHS = frozenset({"/healthz", "/readyz"})

STREAMED = frozenset({("POST", "/jobs/import")})

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]/@\s]+)(?::[0-9]{1,5})?")
_JSON = re.compile(r'application/json(?:\s*;\s*charset="?utf-8"?)?\s*', re.IGNORECASE)
_JSON_LINES = re.compile(
    r'application/(?:x-ndjson|jsonl)(?:\s*;\s*charset="?utf-8"?)?\s*', re.IGNORECASE
)
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request goes no further."""

    status: int
    detail: str
    headers: tuple[tuple[str, str], ...] = ()

    def response(self) -> Response:
        return problem(self.status, self.detail, headers=dict(self.headers))


class Guard:
    """ASGI middleware that lets pass what may reach a route.

    Args:
        token: what `Authorization: Bearer` must carry on all but `OPEN_PATHS`.
        allowed_hosts: names and addresses that clients may reach this server by; any port.

    Raises:
        InvalidConfig: the token is empty.
    """

    def __init__(self, app: ASGIApp, *, token: str, allowed_hosts: Sequence[str]) -> None:
        if not token.strip():
            raise InvalidConfig("the API needs a token that is not empty")
        self._app = app
        self._token = sha256(token.encode()).digest()
        self._hosts = frozenset(host.strip("[]").lower() for host in allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = _Headers(scope["headers"])
        refusal = self._refusal(scope, headers)
        if (scope["method"], scope["path"]) in STREAMED:
            if refusal is None and headers.has_body:
                refusal = _wrong_type(headers, _JSON_LINES, "application/x-ndjson")
        elif refusal is None and headers.has_body:
            taken = await _take_body(headers, receive)
            if taken is None:
                return
            if isinstance(taken, Refusal):
                refusal = taken
            else:
                refusal = _wrong_type(headers, _JSON, "application/json") if taken else None
                receive = _replay(taken, receive)
        if refusal is not None:
            await refusal.response()(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: _Headers) -> Refusal | None:
        return (
            self._wrong_host(headers)
            or _wrong_origin(headers)
            or (None if scope["path"] in OPEN_PATHS else self._wrong_token(headers))
            or _wrong_url(scope)
        )

    def _wrong_host(self, headers: _Headers) -> Refusal | None:
        host = headers.one("host")
        match = _HOST.fullmatch(host) if host else None
        if match is None:
            return Refusal(400, "the request needs one Host header with a name or an address")
        name = match[1].strip("[]").lower().removesuffix(".")
        if name in self._hosts:
            return None
        return Refusal(
            421,
            f"this server is not known as {name[:100]!r}; start it with --allowed-host to add it",
        )

    def _wrong_token(self, headers: _Headers) -> Refusal | None:
        scheme, _, given = (headers.one("authorization") or "").partition(" ")
        # Digests have one length, so the comparison tells nothing about the token's.
        digest = sha256(given.strip().encode("latin-1")).digest()
        if scheme.lower() == "bearer" and hmac.compare_digest(digest, self._token):
            return None
        what = "a token is needed" if not given else "the token is not the right one"
        return Refusal(
            401,
            f"{what}; send it as Authorization: Bearer TOKEN",
            (("WWW-Authenticate", "Bearer"),),
        )


class _Headers:
    """The headers that the guard looks at. A name that came twice has no single value."""

    _NAMES = frozenset(
        {
            b"host",
            b"authorization",
            b"origin",
            b"content-type",
            b"content-length",
            b"content-encoding",
            b"transfer-encoding",
        }
    )

    def __init__(self, raw: Sequence[tuple[bytes, bytes]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in raw:
            if name in self._NAMES:
                self._values.setdefault(name.decode(), []).append(value.decode("latin-1"))

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def one(self, name: str) -> str | None:
        values = self._values.get(name, ())
        return values[0] if len(values) == 1 else None

    @property
    def has_body(self) -> bool:
        length = self._values.get("content-length", ["0"])[-1]
        return "transfer-encoding" in self._values or length != "0"


def _wrong_origin(headers: _Headers) -> Refusal | None:
    if "origin" not in headers:
        return None
    scheme, _, place = (headers.one("origin") or "").lower().partition("://")
    port = _DEFAULT_PORTS.get(scheme)
    host = (headers.one("host") or "").lower()
    if port is not None and place.removesuffix(port) == host.removesuffix(port):
        return None
    return Refusal(403, "requests of web pages of another origin are refused")


def _wrong_url(scope: Scope) -> Refusal | None:
    for part in (scope.get("raw_path") or b"", scope["query_string"]):
        if b"%" not in part and part.isascii():
            continue
        try:
            text = unquote_to_bytes(part).decode("utf-8")
        except UnicodeDecodeError:
            return Refusal(400, "the URL is not UTF-8 once its %-escapes are read")
        if "\0" in text:
            return Refusal(400, "the URL must not hold a NUL byte")
    return None


def _wrong_type(headers: _Headers, wanted: re.Pattern[str], name: str) -> Refusal | None:
    if (
        "content-encoding" in headers
        and (headers.one("content-encoding") or "").lower() != "identity"
    ):
        return Refusal(415, "the body must not be compressed; send it without Content-Encoding")
    kind = headers.one("content-type")
    if kind is None or not wanted.fullmatch(kind):
        return Refusal(415, f"the body must be JSON in UTF-8; send Content-Type: {name}")
    return None


async def _take_body(headers: _Headers, receive: Receive) -> bytes | Refusal | None:
    """The whole body, or the refusal of a larger one; None where the client went away."""
    length = headers.one("content-length")
    declared = int(length) if length is not None and length.isascii() and length.isdigit() else 0
    parts: list[bytes] = []
    size = 0
    while declared <= _DRAIN and size <= _DRAIN:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunk = message.get("body", b"")
        size += len(chunk)
        if max(size, declared) <= MAX_BODY:
            parts.append(chunk)
        if not message.get("more_body", False):
            break
    if max(size, declared) > MAX_BODY:
        return Refusal(
            413,
            f"the body is larger than {MAX_BODY} bytes, the most that is taken",
            (("Connection", "close"),),
        )
    return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body that was taken already, then goes on."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
