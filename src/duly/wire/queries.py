"""Query parameters of the lists: filters, the page's size, and the cursor.

A cursor is the id of the last row of the page before: the key that the list is ordered by, so rows
that come or go in between move nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from duly.errors import InvalidJob
from duly.job import JobState, parse_job_ref
from duly.run import RunKey, Status, parse_run_ref
from duly.store import JobFilter, RunFilter
from duly.wire.durations import read_moment

JOB_ID = r"^j[1-9][0-9]{0,17}$"
RUN_ID = (
    r"^j[1-9][0-9]{0,17}\.[12][0-9]{3}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])"
    r"T([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9](\.[0-9]{1,6})?Z$"
)


def _fault(message: str) -> PydanticCustomError:
    return PydanticCustomError("told", "{told}", {"told": message})


def _job_cursor(ref: str) -> str:
    if parse_job_ref(ref) is None:
        raise _fault('must be the id of a job, like "j7"')
    return ref


def _run_cursor(ref: str) -> str:
    if parse_run_ref(ref) is None:
        raise _fault('must be the id of a run, like "j7.20261024T020000Z"')
    return ref


def _moment(value: str) -> datetime:
    try:
        return read_moment(value)
    except InvalidJob as error:
        raise _fault(str(error)) from error


_Limit = Annotated[int, Field(ge=1, le=1000)]
_Time = Annotated[
    datetime, PlainValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})
]


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class JobQuery(_Query):
    """Which jobs, and which page of them."""

    state: Literal["active", "paused", "ended"] | None = None
    name: str | None = None
    source: str | None = None
    queue: str | None = None
    owner: str | None = None
    limit: _Limit = 100
    after: (
        Annotated[
            str, AfterValidator(_job_cursor), WithJsonSchema({"type": "string", "pattern": JOB_ID})
        ]
        | None
    ) = Field(None, description="Rows after this job.")

    @property
    def cursor(self) -> int:
        return (parse_job_ref(self.after) if self.after else None) or 0

    @property
    def which(self) -> JobFilter:
        return JobFilter(
            state=None if self.state is None else JobState(self.state),
            name=self.name,
            source=self.source,
            queue=self.queue,
            owner=self.owner,
        )


class RunQuery(_Query):
    """Which runs, and which page of them. Both bounds are inclusive and meant for `for`."""

    status: Literal["queued", "running", "succeeded", "dead", "skipped", "canceled"] | None = None
    since: _Time | None = None
    until: _Time | None = None
    limit: _Limit = 100
    after: (
        Annotated[
            str, AfterValidator(_run_cursor), WithJsonSchema({"type": "string", "pattern": RUN_ID})
        ]
        | None
    ) = Field(None, description="Rows after this run, that is older ones.")

    @property
    def cursor(self) -> RunKey | None:
        return parse_run_ref(self.after) if self.after else None

    def which(self, job_id: int | None = None) -> RunFilter:
        return RunFilter(
            job_id=job_id,
            status=None if self.status is None else Status(self.status),
            since=self.since,
            until=self.until,
        )


class OutputQuery(_Query):
    """Whose output: that of the last try that wrote anything, unless told."""

    attempt: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
