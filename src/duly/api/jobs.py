"""/jobs: register, list, show, edit, delete, pause, resume, run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from duly.api import openapi
from duly.api.bodies import json_body, no_body
from duly.api.idempotency import Answered, once, remembered, request_key
from duly.api.pages import page, refuse_repeated
from duly.api.site import JobId, Site, reply, site_of
from duly.errors import NameTaken, NoSuchJob
from duly.flow import edit, register, trigger
from duly.job import Job
from duly.run import parse_run_ref
from duly.store import RequestKey, StoredAnswer
from duly.wire import (
    JobDocument,
    Json,
    is_overdue,
    job_document,
    patched,
    read_job,
    triggered_document,
    write_json,
)
from duly.wire.queries import JobQuery

router = APIRouter(tags=["jobs"])


@router.post("/jobs", **openapi.registers_job())
async def register_job(request: Request) -> Response:
    """Register a job.

    The same name with the same fields is the same job: 200 and the job that is there. With other
    fields: 409. An Idempotency-Key makes it safe to send the request again. A request that is
    refused (4xx) does not take its key: the corrected one may carry it.
    """
    site = site_of(request)
    body = await json_body(request)
    key = request_key(request, site.team, "/jobs", body)
    spec = read_job(body)
    now = site.clock.now()

    def created(job: Job) -> StoredAnswer:
        return _answer(job_document(job, now=now), status=201, location=f"/jobs/{job.ref}")

    async def act(key: RequestKey | None) -> Answered:
        try:
            added = await register.register(
                site.jobs, site.team, spec, now=now, request=key, answer=created
            )
        except NameTaken:
            # Another process may have answered this very request, and its job been edited since.
            stored = None if key is None else await site.jobs.recall(key)
            if stored is None:
                raise
            return Answered(stored, replayed=True)
        if added.created:
            return Answered(created(added.job))
        found = job_document(added.job, now=now)
        return await remembered(
            site, key, _answer(found, status=200, location=f"/jobs/{added.job.ref}")
        )

    return await once(site, key, act)


@router.get("/jobs", **openapi.lists_jobs())
async def list_jobs(request: Request, query: Annotated[JobQuery, Query()]) -> Response:
    """List jobs by id. Deleted ones are not listed."""
    refuse_repeated(request)
    site = site_of(request)
    jobs = await site.jobs.browse(site.team, query.which, after=query.cursor, limit=query.limit + 1)
    return page(request, await _documents(site, jobs), limit=query.limit)


@router.get("/jobs/{job_id}", **openapi.shows_job())
async def show_job(request: Request, job_id: JobId) -> Response:
    """Show a job."""
    site = site_of(request)
    return reply(await _document(site, await site.job(job_id)))


@router.patch("/jobs/{job_id}", **openapi.edits_job())
async def edit_job(request: Request, job_id: JobId) -> Response:
    """Edit a job by a JSON merge patch.

    null sets a field back to its default; `command`, `missed` and `retry` merge member by member.
    A change of timing voids what was planned for later than now.
    """
    site = site_of(request)
    patch = await json_body(request)
    job = await site.job(job_id)
    edited = await edit.edit(
        site.jobs, site.runs, job.id, lambda spec: patched(spec, patch), now=site.clock.now()
    )
    return reply(await _document(site, edited.job))


@router.delete("/jobs/{job_id}", **openapi.deletes_job())
async def delete_job(request: Request, job_id: JobId) -> Response:
    """Delete a job: nothing of it starts any more. Its history stays, its name is free."""
    site = site_of(request)
    job = await site.job(job_id)
    await edit.delete(site.jobs, site.runs, job.id, now=site.clock.now())
    return Response(status_code=204)


@router.post("/jobs/{job_id}/pause", **openapi.changes_job())
async def pause_job(request: Request, job_id: JobId) -> Response:
    """Pause a job: what has not started will not, what runs goes on."""
    return await _change(request, job_id, "pause", edit.pause)


@router.post("/jobs/{job_id}/resume", **openapi.changes_job())
async def resume_job(request: Request, job_id: JobId) -> Response:
    """Resume a paused job at its next slot from now."""
    return await _change(request, job_id, "resume", edit.resume)


@router.post("/jobs/{job_id}/run", **openapi.triggers_run())
async def run_job(request: Request, job_id: JobId) -> Response:
    """Start a run now, outside the schedule; also of a paused or ended job.

    It runs what the job says; a body that would say otherwise is refused.
    """
    site = site_of(request)
    key = request_key(request, site.team, f"/jobs/{job_id}/run", await no_body(request))

    async def start(job_id: int, at: datetime) -> None:
        await trigger.trigger(site.jobs, site.runs, job_id, now=at)

    async def act(key: RequestKey | None) -> Answered:
        job = await site.job(job_id)
        moment = site.moments.next()
        run = triggered_document(job, moment)
        # First the promise of this very run, then the run: a crash between the two is made good
        # by the next request with the key, and a second one finds the run's key taken.
        kept = await remembered(site, key, _answer(run, status=202, location=f"/runs/{run['id']}"))
        if kept.replayed:
            await again(kept.answer)
        else:
            await start(job.id, moment)
        return kept

    async def again(stored: StoredAnswer) -> None:
        promised = parse_run_ref((stored.location or "").removeprefix("/runs/"))
        if promised is None or await site.runs.get(promised) is not None:
            return
        try:
            await start(promised.job_id, promised.scheduled_for)
        except NoSuchJob:
            return  # deleted since; the answer stays what it was

    return await once(site, key, act, again=again)


_Verb = Callable[..., Awaitable[edit.Edited]]


async def _change(request: Request, job_id: str, name: str, verb: _Verb) -> Response:
    site = site_of(request)
    key = request_key(request, site.team, f"/jobs/{job_id}/{name}", await no_body(request))

    async def act(key: RequestKey | None) -> Answered:
        job = await site.job(job_id)
        edited = await verb(site.jobs, site.runs, job.id, now=site.clock.now())
        return await remembered(site, key, _answer(await _document(site, edited.job), status=200))

    return await once(site, key, act)


async def _document(site: Site, job: Job) -> JobDocument:
    return (await _documents(site, [job]))[0]


async def _documents(site: Site, jobs: list[Job]) -> list[JobDocument]:
    now = site.clock.now()
    overdue = any(is_overdue(job, now) for job in jobs)
    term = await site.jobs.current_term() if overdue else None
    return [job_document(job, now=now, term=term) for job in jobs]


def _answer(document: Json, *, status: int, location: str | None = None) -> StoredAnswer:
    return StoredAnswer(status, write_json(document).decode(), location)
