"""One call per route of the API. Sends each request once; says what came back.

Nothing here reads the environment (no proxies, no .netrc): the caller gives address and token, and
the token goes to that address alone. Calls are synchronous and safe to use from one thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypedDict, cast
from urllib.parse import quote

import httpx

from duly.sdk.errors import ApiError, NotDuly, ServerUnreachable
from duly.sdk.imports import Imported, parts, read_answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import TracebackType

PAGE = 200


class Job(TypedDict, total=False):
    """A job as the API shows it."""

    id: str
    name: str | None
    state: str
    schedule: str
    timezone: str
    in_words: str | None
    gap: str
    repeat: str
    starts_at: str | None
    ends_at: str | None
    next_run: str | None
    overdue_s: float
    overdue_reason: str
    command: str | dict[str, Any]
    input: Any
    jitter: str
    overlap: str
    missed: dict[str, Any]
    retry: str | dict[str, Any]
    timeout: str
    queue: str
    priority: int
    description: str | None
    owner: str | None
    alert: str
    source: str | None
    version: int
    created: str
    updated: str
    warnings: list[str]


Run = TypedDict(
    "Run",
    {
        "id": str,
        "job": str,
        "for": str,
        "due": str,
        "status": str,
        "attempts": int,
        "worker": str | None,
        "queued": str,
        "started": str | None,
        "finished": str | None,
        "lateness_s": float | None,
        "exit_code": int | None,
        "signal": int | None,
        "reason": str | None,
        "manual": bool,
        "interruptions": int,
        "slots": int,
        "last_slot": str | None,
        "tries": list[dict[str, Any]],
    },
    total=False,
)
"""A run as the API shows it; `tries` only where a single run was asked for."""


class Client:
    """A connection to one server.

    Args:
        url: where it listens, for example `http://127.0.0.1:7437`.
        token: proves who asks.
        timeout_s: how long to wait for each answer.
        transport: how requests travel; tests bring their own.

    Every call raises `ApiError` where the API refuses, `ServerUnreachable` where nothing answers.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout_s: float = 30.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        # Without a token the server is asked all the same: only it can say that it needs one.
        known = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(
            base_url=self.url,
            headers={"Accept": "application/json", **known},
            timeout=httpx.Timeout(timeout_s, connect=5.0),
            transport=transport,
            trust_env=False,
            # Reading all certificates takes a while, and is of no use where nothing is encrypted.
            verify=self.url.startswith("https:"),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def add_job(self, body: Mapping[str, Any], *, key: str | None = None) -> Job:
        """Register a job; under the same idempotency key the same body is one job."""
        headers = {} if key is None else {"Idempotency-Key": key}
        return cast("Job", self._json("POST", "/jobs", json=dict(body), headers=headers))

    def import_jobs(self, lines: Iterable[str | bytes]) -> Iterator[Imported]:
        """Register many jobs, one JSON body a line; what became of each, in order, as it comes.

        A line that is refused harms no other; a blank one is passed over, and counts. Whatever
        breaks an import off: the same lines again make no job with a name twice.

            for each in client.import_jobs(open("jobs.ndjson", "rb")):
                print(each["line"], each.get("id") or each["error"]["detail"])
        """
        kind = {"Content-Type": "application/x-ndjson"}
        for before, part in parts(lines):
            answer = self._send("POST", "/jobs/import", content=part, headers=kind)
            yield from read_answer(self.url, answer.content, before)

    def jobs(self, *, page: int = PAGE, **filters: str | None) -> Iterator[Job]:
        """All jobs that match (state, name, source, queue, owner), `page` of them a request."""
        return cast("Iterator[Job]", self._pages("/jobs", filters, page))

    def job(self, job_id: str) -> Job:
        return cast("Job", self._json("GET", _path("jobs", job_id)))

    def edit_job(self, job_id: str, changes: Mapping[str, Any]) -> Job:
        """Change what `changes` names (a JSON merge patch, RFC 7396) and nothing else."""
        return cast("Job", self._json("PATCH", _path("jobs", job_id), json=dict(changes)))

    def delete_job(self, job_id: str) -> None:
        self._send("DELETE", _path("jobs", job_id))

    def pause_job(self, job_id: str) -> Job:
        return cast("Job", self._json("POST", _path("jobs", job_id, "pause")))

    def resume_job(self, job_id: str) -> Job:
        return cast("Job", self._json("POST", _path("jobs", job_id, "resume")))

    def run_job(self, job_id: str) -> Run:
        """Start a run now, outside the schedule."""
        return cast("Run", self._json("POST", _path("jobs", job_id, "run")))

    def runs(
        self, job_id: str | None = None, *, page: int = PAGE, **filters: str | None
    ) -> Iterator[Run]:
        """Runs (of one job, or of all), newest first; filters: status, since, until."""
        path = "/runs" if job_id is None else _path("jobs", job_id, "runs")
        return cast("Iterator[Run]", self._pages(path, filters, page))

    def run(self, run_id: str) -> Run:
        return cast("Run", self._json("GET", _path("runs", run_id)))

    def output(self, run_id: str, *, attempt: int | None = None) -> bytes:
        """What the run's last try (or the one named) wrote, byte for byte."""
        params = {} if attempt is None else {"attempt": attempt}
        return self._send("GET", _path("runs", run_id, "output"), params=params).content

    def cancel_run(self, run_id: str) -> Run:
        return cast("Run", self._json("POST", _path("runs", run_id, "cancel")))

    def status(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self._json("GET", "/status"))

    def _pages(self, path: str, filters: Mapping[str, str | None], page: int) -> Iterator[Any]:
        params = {name: value for name, value in filters.items() if value is not None}
        answer = self._send("GET", path, params={"limit": str(page), **params})
        while True:
            yield from _list(self.url, answer)
            link = answer.links.get("next", {}).get("url")
            if link is None:
                return
            # Only the query is taken over: a link never decides where the token is sent.
            query = httpx.URL(link).params
            answer = self._send("GET", path, params=query)

    def _json(self, method: str, path: str, **request: Any) -> Any:
        return _parsed(self.url, self._send(method, path, **request))

    def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, path, **request)
        except httpx.TimeoutException as error:
            raise ServerUnreachable(self.url, "no answer in time") from error
        except httpx.HTTPError as error:
            raise ServerUnreachable(self.url, str(error) or type(error).__name__) from error
        if answer.is_success:
            return answer
        raise ApiError(answer.status_code, _problem(answer))


def _path(*parts: str) -> str:
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def _parsed(url: str, answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError as error:
        raise NotDuly(url, "its answer is no JSON") from error


def _list(url: str, answer: httpx.Response) -> list[Any]:
    rows = _parsed(url, answer)
    if not isinstance(rows, list):
        raise NotDuly(url, "its answer is no list")
    return rows


def _problem(answer: httpx.Response) -> dict[str, Any]:
    """The answer's problem document, or one in its place where a proxy answered."""
    try:
        document = answer.json()
    except ValueError:
        document = None
    if isinstance(document, dict):
        return document
    title = answer.reason_phrase or f"HTTP status {answer.status_code}"
    return {"title": title, "status": answer.status_code, "detail": f"the server said: {title}"}
