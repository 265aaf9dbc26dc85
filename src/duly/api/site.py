"""What every route works with, and the forms in which routes answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import Path, Request, Response

from duly.api.idempotency import InFlight
from duly.archive import Archive
from duly.clock import Clock
from duly.errors import NoSuchJob, NoSuchRun
from duly.job import Job, JobState, parse_job_ref
from duly.run import RunKey, parse_run_ref
from duly.store import JobStore, RunStore
from duly.wire import Json, write_json
from duly.wire.queries import JOB_ID, RUN_ID

_TICK = timedelta(microseconds=1)

JobId = Annotated[str, Path(examples=["j7"], json_schema_extra={"pattern": JOB_ID})]
RunId = Annotated[
    str, Path(examples=["j7.20261024T020000Z"], json_schema_extra={"pattern": RUN_ID})
]


class Moments:
    """Moments for manual runs: each later than the one before, so two triggers are two runs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: datetime | None = None

    def next(self) -> datetime:
        now = self._clock.now()
        self._last = now if self._last is None else max(now, self._last + _TICK)
        return self._last


@dataclass(frozen=True, slots=True)
class Site:
    """The stores and the clock of one API, and what it keeps in memory.

    Args:
        team: whose jobs these are; the token stands for it.
        in_flight: requests with an Idempotency-Key that are being answered by this process.
    """

    jobs: JobStore
    runs: RunStore
    clock: Clock
    moments: Moments
    team: str
    archive: Archive | None = None
    in_flight: InFlight = field(default_factory=InFlight)

    async def job(self, ref: str, *, deleted: bool = False) -> Job:
        """The team's job of that id. Raises NoSuchJob, also for a deleted one unless asked for."""
        job_id = parse_job_ref(ref)
        job = None if job_id is None else await self.jobs.get(job_id)
        if job is None or job.team != self.team or (job.state is JobState.DELETED and not deleted):
            raise NoSuchJob(f"there is no job {ref[:100]!r}")
        return job


def site_of(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


def run_key(ref: str) -> RunKey:
    """The key behind a run id. Raises NoSuchRun."""
    key = parse_run_ref(ref)
    if key is None:
        raise NoSuchRun(f"there is no run {ref[:100]!r}; a run's id looks like j7.20261024T020000Z")
    return key


def reply(
    document: Json, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON answer."""
    return Response(
        write_json(document), status_code=status, headers=headers, media_type="application/json"
    )
