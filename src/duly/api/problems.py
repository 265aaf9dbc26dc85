"""Refusals as problem documents (RFC 9457), one form for every error.

A `type` is `about:blank` where the HTTP status says it all, else a URN that programs tell apart.
A bug is answered without a word about it, and goes on to the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Route

from duly.errors import (
    DulyError,
    InvalidJob,
    InvalidSchedule,
    KeyReused,
    NameTaken,
    NoSuchJob,
    NoSuchRun,
    StoreUnavailable,
)
from duly.wire import Fault, InvalidBody, Json, MalformedJson, write_json
from duly.wire.faults import sentence_of

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 1


class Refused(HTTPException):
    """A request that HTTP itself gives a reason to refuse.

    Args:
        kind: the last part of the problem's URN, where clients should tell it apart.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        kind: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.kind = kind


def problem(
    status: int,
    detail: str | None = None,
    *,
    kind: str | None = None,
    errors: Sequence[Mapping[str, Any]] = (),
    headers: Mapping[str, str] | None = None,
    **more: Json,
) -> Response:
    """A problem document. `more` are members of its own kind."""
    document: dict[str, Any] = {
        "type": "about:blank" if kind is None else f"urn:duly:problem:{kind}",
        "title": HTTPStatus(status).phrase,
        "status": status,
    }
    if detail is not None:
        document["detail"] = detail
    if errors:
        document["errors"] = list(errors)
    return Response(
        write_json(document | more), status_code=status, headers=headers, media_type=MEDIA_TYPE
    )


def install(app: FastAPI) -> None:
    """Answer every error of the application with a problem document."""
    app.add_exception_handler(DulyError, _duly_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _parameter_faults)
    app.add_exception_handler(Exception, _bug)


async def _duly_error(_request: Request, error: Exception) -> Response:
    return problem_of(error)


def problem_of(error: Exception) -> Response:
    """The problem document of an error that Duly raised; any other is raised again."""
    match error:
        case MalformedJson():
            return problem(400, str(error), kind="malformed-json")
        case InvalidBody():
            return _body_faults(error.faults, str(error))
        case InvalidSchedule():
            return _body_faults([Fault("/schedule", str(error))], str(error))
        case InvalidJob():
            return _body_faults([Fault(error.pointer, str(error))], str(error))
        case NameTaken():
            return problem(409, str(error), kind="name-taken", job=error.job_id)
        case KeyReused():
            return problem(422, str(error), kind="idempotency-key-reused")
        case NoSuchJob():
            return problem(404, str(error), kind="no-such-job")
        case NoSuchRun():
            return problem(404, str(error), kind="no-such-run")
        case StoreUnavailable():
            # The message names files of the server; the client needs to know only what to do.
            return problem(
                503,
                "a database does not answer; the request may or may not have taken effect, "
                "and it is safe to send it again with the same Idempotency-Key",
                kind="store-unavailable",
                headers={"Retry-After": str(RETRY_AFTER_S)},
            )
        case _:
            raise error


def _body_faults(faults: Sequence[Fault], detail: str) -> Response:
    errors = [{"pointer": fault.pointer, "detail": fault.detail} for fault in faults]
    return problem(422, detail, kind="invalid-body", errors=errors)


async def _parameter_faults(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [
        {"parameter": str(each["loc"][-1]), "detail": sentence_of(each)} for each in error.errors()
    ]
    detail = "; ".join(f"{each['parameter']}: {each['detail']}" for each in errors[:3])
    return problem(422, detail, kind="invalid-parameter", errors=errors)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error, Refused):
        return problem(error.status_code, error.detail, kind=error.kind, headers=error.headers)
    headers = error.headers
    if error.status_code == 405:
        headers = {"Allow": ", ".join(_methods(request))}
    detail = _NOT_ROUTED.get(error.status_code, error.detail)
    return problem(error.status_code, detail, headers=headers)


def _methods(request: Request) -> list[str]:
    """All methods that the path takes; the router names only those of the first route it tried."""
    path = request.url.path
    routers = (request.app, *request.app.state.routers)
    routes = (route for router in routers for route in router.routes)
    return sorted(
        {
            method
            for route in routes
            if isinstance(route, Route) and route.path_regex.match(path)
            for method in route.methods or ()
        }
    )


_NOT_ROUTED = {
    404: "there is no such route; GET /openapi.json lists them all",
    405: "this route does not take that method; the Allow header names those that it takes",
}


async def _bug(_request: Request, _error: Exception) -> Response:
    return problem(500, "something went wrong in Duly; its log says what")
