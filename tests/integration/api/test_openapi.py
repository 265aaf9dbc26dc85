"""The OpenAPI document, and schemathesis trying the API by it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

from duly.api import create_app
from duly.backends.sqlite import SqliteJobStore, SqliteRunStore
from duly.clock import ManualClock

_SETTINGS = settings(
    max_examples=25,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)

pytestmark = pytest.mark.anyio


@schemathesis.serializer("application/x-ndjson")
def _lines(_context: Any, value: Any) -> bytes:
    """To schemathesis the lines of an import are a text; one that does not fit is any JSON."""
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_the_api_keeps_to_its_own_description(
    tmp_path: Path, token: str, mode: GenerationMode
) -> None:
    """Requests that fit the description, and requests that do not; the answers always fit."""
    clock = ManualClock(datetime(2026, 10, 24, 2, tzinfo=UTC))
    jobs = SqliteJobStore(tmp_path / "jobs.db", clock)
    runs = SqliteRunStore(tmp_path / "runs.db", clock)
    app = create_app(jobs=jobs, runs=runs, clock=clock, token=token, allowed_hosts=["testserver"])
    headers = {"Authorization": f"Bearer {token}"}
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=headers)

    def check(case: Case[Any]) -> None:
        # A parameter without a value is not sent, so what was to be wrong by it is right.
        assume(not any(value in ([], {}) for value in (case.query or {}).values()))
        # A schedule is more than a string, so a body that fits may rightly be refused.
        case.call_and_validate(headers=headers, excluded_checks=[positive_data_acceptance])

    # Nothing that a request could get wrong; each line of an import is answered for itself.
    always_right = ("/healthz", "/readyz", "/status", "/jobs/import")
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        if mode is GenerationMode.NEGATIVE and operation.path in always_right:
            continue
        strategy = operation.as_strategy(generation_mode=mode)
        seed(20261024)(_SETTINGS(given(case=strategy)(check)))()


async def test_every_route_is_described_with_its_refusals(app: FastAPI) -> None:
    document = app.openapi()
    routes = {
        (method.upper(), path): operation
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    assert sorted(routes) == [
        ("DELETE", "/jobs/{job_id}"),
        ("GET", "/healthz"),
        ("GET", "/jobs"),
        ("GET", "/jobs/{job_id}"),
        ("GET", "/jobs/{job_id}/runs"),
        ("GET", "/readyz"),
        ("GET", "/runs"),
        ("GET", "/runs/{run_id}"),
        ("GET", "/runs/{run_id}/output"),
        ("GET", "/status"),
        ("PATCH", "/jobs/{job_id}"),
        ("POST", "/jobs"),
        ("POST", "/jobs/import"),
        ("POST", "/jobs/{job_id}/pause"),
        ("POST", "/jobs/{job_id}/resume"),
        ("POST", "/jobs/{job_id}/run"),
        ("POST", "/runs/{run_id}/cancel"),
    ]
    for (_, path), operation in routes.items():
        assert operation["summary"]
        if path not in ("/healthz", "/readyz"):
            assert {"400", "401", "403", "421", "422", "503"} <= operation["responses"].keys()
    body = document["components"]["schemas"]["JobBody"]
    assert set(body["required"]) == {"schedule", "command"}
    assert body["additionalProperties"] is False


async def test_every_reference_of_the_document_leads_somewhere(app: FastAPI) -> None:
    document = app.openapi()

    def references(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            for each in value.values():
                yield from references(each)
        elif isinstance(value, list):
            for each in value:
                yield from references(each)

    known = document["components"]["schemas"]
    assert {ref.removeprefix("#/components/schemas/") for ref in references(document)} <= set(known)
