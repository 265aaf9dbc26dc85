"""Wire: the JSON shapes of the API, read strictly and rendered compactly. Nothing else knows them.

Pure: no I/O and no clock. Bodies are checked by pydantic at this edge and become frozen
dataclasses of the core; what goes out is built as plain dicts, which costs the least.

    body ── read_json ──► JSON ── read_job / patched ──► JobSpec        (InvalidBody: all faults)
    Job, Run ── job_document / run_document ──► JSON ── write_json ──► bytes
"""

from duly.wire.documents import Json, MalformedJson, fingerprint, read_json, write_json
from duly.wire.durations import (
    read_duration,
    read_moment,
    show_duration,
    show_moment,
)
from duly.wire.faults import Fault, InvalidBody
from duly.wire.jobs import JobDocument, is_overdue, job_document
from duly.wire.requests import patched, read_job
from duly.wire.runs import (
    RunDocument,
    RunWithTries,
    StatusDocument,
    run_document,
    run_with_tries,
    status_document,
    triggered_document,
)

__all__ = [
    "Fault",
    "InvalidBody",
    "JobDocument",
    "Json",
    "MalformedJson",
    "RunDocument",
    "RunWithTries",
    "StatusDocument",
    "fingerprint",
    "is_overdue",
    "job_document",
    "patched",
    "read_duration",
    "read_job",
    "read_json",
    "read_moment",
    "run_document",
    "run_with_tries",
    "show_duration",
    "show_moment",
    "status_document",
    "triggered_document",
    "write_json",
]
