"""/healthz, /readyz, /status: is this process there, can it work, and how is the whole doing."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request, Response

from duly import __version__
from duly.api import openapi
from duly.api.problems import RETRY_AFTER_S, problem
from duly.api.site import reply, site_of
from duly.errors import StoreUnavailable
from duly.wire import status_document

router = APIRouter(tags=["health"])

_ANSWER_WITHIN_S = 5.0


@router.get("/healthz", **openapi.tells_health())
async def health(_request: Request) -> Response:
    """Whether this process answers. Asks no database; needs no token."""
    return reply({"status": "ok"})


@router.get("/readyz", **openapi.tells_readiness())
async def readiness(request: Request) -> Response:
    """Whether both databases answer. Needs no token."""
    site = site_of(request)
    silent = []
    for name, ask in (("jobs", site.jobs.current_term), ("runs", site.runs.workers)):
        try:
            async with asyncio.timeout(_ANSWER_WITHIN_S):
                await ask()
        except (StoreUnavailable, TimeoutError):
            silent.append(name)
    if silent:
        told = " and ".join(silent)
        return problem(
            503,
            f"no answer from the database of {told}",
            kind="store-unavailable",
            headers={"Retry-After": str(RETRY_AFTER_S)},
        )
    return reply({"status": "ready"})


@router.get("/status", **openapi.tells_status())
async def status(request: Request) -> Response:
    """Jobs, runs, workers and the scheduler at a glance."""
    site = site_of(request)
    jobs, term, backlog, workers = await asyncio.gather(
        site.jobs.counts(), site.jobs.current_term(), site.runs.backlog(), site.runs.workers()
    )
    document = status_document(
        jobs=jobs,
        backlog=backlog,
        workers=workers,
        term=term,
        now=site.clock.now(),
        version=__version__,
    )
    return reply(document)
