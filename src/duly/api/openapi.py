"""What /openapi.json says of each route: bodies, answers, refusals, headers.

Routes read their bodies themselves (strictly, see `duly.wire`), so this file tells FastAPI what it
cannot see. `complete` puts the bodies' schemas where the routes refer to them.
"""

from __future__ import annotations

from typing import Any, NotRequired

from fastapi import FastAPI, Response
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from duly.api.idempotency import HEADER, REPLAYED
from duly.wire import JobDocument, RunDocument, RunWithTries, StatusDocument
from duly.wire.bodies import JobBody, JobPatch

JSON_LINES = "application/x-ndjson"
_REF = "#/components/schemas/{model}"
_BODIES = (JobBody, JobPatch)


class ProblemError(TypedDict):
    """One fault: of a body (`pointer`, RFC 6901) or of a query parameter."""

    pointer: NotRequired[str]
    parameter: NotRequired[str]
    detail: str


class Problem(TypedDict):
    """A problem document (RFC 9457). `job` stands there where another job has the name."""

    type: str
    title: str
    status: int
    detail: NotRequired[str]
    errors: NotRequired[list[ProblemError]]
    job: NotRequired[str]


class Health(TypedDict):
    """That this process answers."""

    status: str


_WHY = {
    400: "Malformed: the URL, the JSON, the Host header or the Idempotency-Key.",
    401: "The token is missing or wrong.",
    403: "Sent by a web page of another origin.",
    404: "There is no such thing.",
    409: "In conflict with what is there.",
    413: "The body is larger than 1 MiB.",
    415: "The body is not application/json (of an import: application/x-ndjson).",
    421: "This server is not known by that Host.",
    422: "The body or a parameter is not what it should be; `errors` names every fault.",
    503: "A database does not answer; safe to send again.",
}
_ALWAYS = (400, 401, 403, 421, 422, 503)
_WITH_BODY = (413, 415)


def registers_job() -> dict[str, Any]:
    return _route(
        {201: _job("Registered."), 200: _job("The job was there already, under its name.")},
        refused=(409, *_WITH_BODY),
        status_code=201,
        body=JobBody,
        keyed=True,
        located=(200, 201),
    )


def imports_jobs() -> dict[str, Any]:
    a_line = {"type": "string", "description": "Lines of JSON, each a JobBody; blank ones count."}
    told = {
        "type": "string",
        "description": (
            'Lines of JSON: `{"line", "id", "created"}` or `{"line", "error": Problem}` for each '
            'that is not blank, at last `{"lines", "created", "existing", "failed"}`, or '
            '`{"error": Problem}` where a database does not answer.'
        ),
    }
    route = _route(
        {
            200: {
                "description": "What became of each line.",
                "content": {JSON_LINES: {"schema": told}},
            }
        },
        refused=(415,),
    )
    # Says of no type of its own that it is one of the answer's.
    route["response_class"] = Response
    route["openapi_extra"]["requestBody"] = {
        "content": {JSON_LINES: {"schema": a_line}},
        "required": False,
    }
    return route


def lists_jobs() -> dict[str, Any]:
    return _route({200: _page(list[JobDocument], "Jobs by id.")})


def shows_job() -> dict[str, Any]:
    return _route({200: _job("The job.")}, refused=(404,))


def edits_job() -> dict[str, Any]:
    return _route(
        {200: _job("The job as it is now.")}, refused=(404, 409, *_WITH_BODY), body=JobPatch
    )


def deletes_job() -> dict[str, Any]:
    return _route({204: {"description": "Deleted."}}, refused=(404,), status_code=204)


def changes_job() -> dict[str, Any]:
    return _route(
        {200: _job("The job as it is now.")},
        refused=(404, 409, *_WITH_BODY),
        keyed=True,
        empty=True,
    )


def triggers_run() -> dict[str, Any]:
    return _route(
        {202: {"model": RunDocument, "description": "Queued."}},
        refused=(404, 409, *_WITH_BODY),
        status_code=202,
        keyed=True,
        empty=True,
        located=(202,),
    )


def lists_runs(*, of_job: bool = False) -> dict[str, Any]:
    return _route(
        {200: _page(list[RunDocument], "Runs, newest first.")}, refused=(404,) if of_job else ()
    )


def shows_run() -> dict[str, Any]:
    return _route({200: {"model": RunWithTries, "description": "The run."}}, refused=(404,))


def shows_output() -> dict[str, Any]:
    dropped = _header("How many bytes in the middle were not kept.", "integer")
    written = {
        "description": "What the try wrote.",
        "content": {"text/plain": {"schema": {"type": "string"}}},
        "headers": {"X-Duly-Dropped-Bytes": dropped},
    }
    return _route({200: written, 204: {"description": "It wrote nothing."}}, refused=(404,))


def cancels_run() -> dict[str, Any]:
    return _route(
        {200: {"model": RunDocument, "description": "Canceled."}},
        refused=(404, 409, *_WITH_BODY),
        empty=True,
    )


def tells_health() -> dict[str, Any]:
    return _route(
        {200: {"model": Health, "description": "It answers."}}, always=(400, 403, 421), open_=True
    )


def tells_readiness() -> dict[str, Any]:
    return _route(
        {200: {"model": Health, "description": "It can work."}},
        always=(400, 403, 421, 503),
        open_=True,
    )


def tells_status() -> dict[str, Any]:
    return _route({200: {"model": StatusDocument, "description": "The whole at a glance."}})


def complete(app: FastAPI) -> None:
    """Make the application's OpenAPI document whole; it is built once, when first asked for."""

    def build() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes
            )
            components = document.setdefault("components", {})
            _, bodies = TypeAdapter.json_schemas(
                [(body.__name__, "validation", TypeAdapter(body)) for body in _BODIES],
                ref_template=_REF,
            )
            refusal = TypeAdapter(Problem).json_schema(ref_template=_REF)
            components["schemas"] = {
                **components.get("schemas", {}),
                **bodies["$defs"],
                **refusal.pop("$defs"),
                "Problem": refusal,
            }
            components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"token": []}]
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = build  # type: ignore[method-assign]


def _route(
    answers: dict[int, dict[str, Any]],
    *,
    refused: tuple[int, ...] = (),
    always: tuple[int, ...] = _ALWAYS,
    status_code: int = 200,
    body: type | None = None,
    keyed: bool = False,
    empty: bool = False,
    located: tuple[int, ...] = (),
    open_: bool = False,
) -> dict[str, Any]:
    """Keyword arguments for a route's decorator."""
    extra: dict[str, Any] = {}
    if body is not None:
        extra["requestBody"] = _content({"$ref": _REF.format(model=body.__name__)}, required=True)
    if empty:
        nothing = {"type": "object", "additionalProperties": False, "maxProperties": 0}
        extra["requestBody"] = _content(nothing, required=False)
    if keyed:
        extra["parameters"] = [_KEY_PARAMETER]
        for each in answers.values():
            each.setdefault("headers", {})[REPLAYED] = _header(
                "`true` where this is the answer to an earlier request.", "string"
            )
    for status in located:
        answers[status].setdefault("headers", {})["Location"] = _header("Its URL.", "string")
    if open_:
        extra["security"] = []
    problems = {status: _problem(status) for status in sorted({*always, *refused})}
    return {
        "status_code": status_code,
        "response_model": None,
        "responses": {**answers, **problems},
        "openapi_extra": extra,
    }


_KEY_PARAMETER = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "The same key with the same body gets the first answer again.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[!-+\--~]+$"},
}


def _content(schema: dict[str, Any], *, required: bool) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}, "required": required}


def _job(description: str) -> dict[str, Any]:
    return {"model": JobDocument, "description": description}


def _page(model: object, description: str) -> dict[str, Any]:
    link = _header('`rel="next"` where there is a next page.', "string")
    return {"model": model, "description": description, "headers": {"Link": link}}


def _problem(status: int) -> dict[str, Any]:
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = _header("Bearer.", "string")
    if status == 503:
        headers["Retry-After"] = _header("Seconds.", "integer")
    return {
        "description": _WHY[status],
        "content": {"application/problem+json": {"schema": {"$ref": _REF.format(model="Problem")}}},
        "headers": headers,
    }


def _header(description: str, kind: str) -> dict[str, Any]:
    return {"description": description, "schema": {"type": kind}}
