"""The application: routes, guard and refusals put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI

from duly import __version__
from duly.api import openapi, problems
from duly.api.guard import Guard
from duly.api.health import router as health_routes
from duly.api.imports import router as import_routes
from duly.api.jobs import router as job_routes
from duly.api.runs import router as run_routes
from duly.api.site import Moments, Site
from duly.archive import Archive
from duly.clock import AnchoredClock, Clock
from duly.errors import StoreUnavailable
from duly.store import JobStore, RunStore

DEFAULT_TEAM = "default"
_KEEP_TIME_S = 5.0


def create_app(
    *,
    jobs: JobStore,
    runs: RunStore,
    clock: Clock,
    token: str,
    allowed_hosts: Sequence[str],
    archive: Archive | None = None,
    team: str = DEFAULT_TEAM,
) -> FastAPI:
    """The API over these stores, which it closes when its server shuts down.

    Args:
        clock: an anchored one is kept at the jobs database's time while the application runs.
        token: what every request but those for health must carry.
        allowed_hosts: names and addresses that clients reach it by; any port.
        archive: where history goes on that the runs database no longer has.
        team: whose jobs it serves. Runs are not kept apart by team: the token is an operator's.

    Raises:
        InvalidConfig: the token is empty.
    """

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        keeping = None
        if isinstance(clock, AnchoredClock):
            keeping = asyncio.create_task(_keep_time(clock, jobs))
        yield
        if keeping is not None:
            keeping.cancel()
        await jobs.close()
        await runs.close()

    app = FastAPI(
        title="Duly",
        version=__version__,
        description="Runs every job on time, every run once, nothing silent.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.site = Site(
        jobs=jobs, runs=runs, clock=clock, moments=Moments(clock), team=team, archive=archive
    )
    # Built here so that an empty token is refused now, not at the first request.
    Guard(app, token=token, allowed_hosts=allowed_hosts)
    app.add_middleware(Guard, token=token, allowed_hosts=allowed_hosts)
    problems.install(app)
    app.state.routers = (health_routes, import_routes, job_routes, run_routes)
    for router in app.state.routers:
        app.include_router(router)
    openapi.complete(app)
    return app


async def _keep_time(clock: AnchoredClock, jobs: JobStore) -> None:
    """Keep the clock at the jobs database's time, which decides first times, bounds and edits."""
    while True:
        with suppress(StoreUnavailable):
            clock.anchor(await jobs.now())
        await asyncio.sleep(_KEEP_TIME_S)
