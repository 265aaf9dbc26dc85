"""/runs and /jobs/{id}/runs: history, output, cancel."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from duly.api import openapi
from duly.api.bodies import no_body
from duly.api.pages import page, refuse_repeated
from duly.api.problems import Refused
from duly.api.site import JobId, RunId, Site, reply, run_key, site_of
from duly.errors import NoSuchRun
from duly.flow import history
from duly.run import Run, RunKey
from duly.wire import run_document, run_with_tries
from duly.wire.queries import OutputQuery, RunQuery

router = APIRouter(tags=["runs"])

_CANCELED = "canceled by a person"


@router.get("/runs", **openapi.lists_runs())
async def list_runs(request: Request, query: Annotated[RunQuery, Query()]) -> Response:
    """List the runs of all jobs, newest first."""
    return await _list(request, query, job_id=None)


@router.get("/jobs/{job_id}/runs", **openapi.lists_runs(of_job=True))
async def list_runs_of_job(
    request: Request, job_id: JobId, query: Annotated[RunQuery, Query()]
) -> Response:
    """List a job's runs, newest first. A deleted job's history stays readable."""
    job = await site_of(request).job(job_id, deleted=True)
    return await _list(request, query, job_id=job.id)


@router.get("/runs/{run_id}", **openapi.shows_run())
async def show_run(request: Request, run_id: RunId) -> Response:
    """Show a run and its tries."""
    site = site_of(request)
    run = await _run(site, run_key(run_id))
    return reply(run_with_tries(run, await history.tries_of(site.runs, site.archive, run)))


@router.get("/runs/{run_id}/output", **openapi.shows_output())
async def show_output(
    request: Request, run_id: RunId, query: Annotated[OutputQuery, Query()]
) -> Response:
    """What a try wrote, both streams in order, byte for byte.

    Where more came than is kept, a line in the middle says how much is missing, and so does
    X-Duly-Dropped-Bytes. 204 where the try wrote nothing, or has not ended yet.
    """
    refuse_repeated(request)
    site = site_of(request)
    run = await _run(site, run_key(run_id))
    if query.attempt is not None and query.attempt > run.attempts:
        raise Refused(404, f"run {run.key} has no try {query.attempt}; it has had {run.attempts}")
    output = await history.output_of(site.runs, site.archive, run, attempt=query.attempt)
    if output is None:
        return Response(status_code=204)
    return Response(
        output.joined(),
        headers={"X-Content-Type-Options": "nosniff", "X-Duly-Dropped-Bytes": str(output.dropped)},
        media_type="text/plain; charset=utf-8",
    )


@router.post("/runs/{run_id}/cancel", **openapi.cancels_run())
async def cancel_run(request: Request, run_id: RunId) -> Response:
    """Cancel a run that has not started."""
    site = site_of(request)
    await no_body(request)
    key = run_key(run_id)
    canceled = await site.runs.cancel(key, reason=_CANCELED)
    run = await _run(site, key)
    if not canceled:
        raise Refused(
            409,
            f"run {key} is {run.status.value}; only a queued run can be canceled",
            kind="not-queued",
        )
    return reply(run_document(run))


async def _list(request: Request, query: RunQuery, *, job_id: int | None) -> Response:
    refuse_repeated(request)
    site = site_of(request)
    which = query.which(job_id)
    runs = await history.list_runs(
        site.runs, site.archive, which, before=query.cursor, limit=query.limit + 1
    )
    return page(request, [run_document(run) for run in runs], limit=query.limit)


async def _run(site: Site, key: RunKey) -> Run:
    run = await history.find_run(site.runs, site.archive, key)
    if run is None:
        raise NoSuchRun(f"there is no run {key}")
    return run
