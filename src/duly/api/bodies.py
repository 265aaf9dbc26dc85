"""Reading what a request carries."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from duly.api.problems import Refused
from duly.wire import Json, read_json


async def json_body(request: Request) -> Json:
    """The JSON value of the body. Raises MalformedJson."""
    return read_json(await request.body())


async def no_body(request: Request) -> dict[str, Any]:
    """A body that must be empty or `{}`; as {} for the fingerprint. Raises Refused.

    A trigger that carried a command or a target would run what its caller may not.
    """
    body = await request.body()
    if body and read_json(body) != {}:
        raise Refused(
            422, "this route takes no fields: leave the body out, or send {}", kind="invalid-body"
        )
    return {}
