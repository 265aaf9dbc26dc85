"""/jobs/import: many jobs from a stream of lines, answered line by line while it comes in.

    body ── Lines ──► batch ── read_job ──► specs ── register_many ──► one line of answer each
                 1,000 lines or 1 MiB               one transaction

One batch is read while the one before it is registered. Neither the body nor the answer is ever
whole in memory. Whatever breaks it off, between batches or within one, the client sends it all
again: a job with a name is not made twice. A client that sends more than a batch must read the
answer meanwhile, for the server reads no faster than it is read.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, suppress

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from duly.api import openapi
from duly.api.problems import problem, problem_of
from duly.api.site import Site, site_of
from duly.errors import DulyError, StoreUnavailable
from duly.flow.register import register_many
from duly.job import JobSpec
from duly.store import Added
from duly.wire import read_job, read_json, write_json
from duly.wire.lines import MOST_BYTES, Lines

BATCH_LINES = 1000
BATCH_BYTES = 1024 * 1024

router = APIRouter(tags=["jobs"])

# A line's number, and the line; None where it was too long to be kept.
_Numbered = tuple[int, bytes | None]
# The same with the line's job, or its fault; None for a line that was not kept.
_Read = tuple[int, JobSpec | DulyError | None]


@router.post("/jobs/import", **openapi.imports_jobs())
async def import_jobs(request: Request) -> Response:
    """Register many jobs, one line each.

    Each line is the body of a POST /jobs, and is answered by one line, in order: the job's id and
    whether it was made, or the problem. The last line is the summary. Where a database does not
    answer, the last line is that problem and there is no summary: send it all again, a job with a
    name is not made twice. Read the answer while sending, or send at most 1,000 lines and 1 MiB.
    """
    return _Streamed(_answers(site_of(request), request.stream()), media_type=openapi.JSON_LINES)


class _Streamed(StreamingResponse):
    """An answer that is sent while the request's body still comes in.

    Starlette's own would listen for the client's going away meanwhile, and lose parts of the body
    by it; here whoever reads the body hears of it. It begins once there is something to say, which
    leaves the server free to ask for the body first (`Expect: 100-continue`).
    """

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        begun = False
        with suppress(ClientDisconnect):
            async for part in self.body_iterator:
                if not begun:
                    await send(
                        {
                            "type": "http.response.start",
                            "status": self.status_code,
                            "headers": self.raw_headers,
                        }
                    )
                    begun = True
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _answers(site: Site, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    tally: Counter[str] = Counter()
    try:
        async with aclosing(_read_ahead(body)) as batches:
            async for batch in batches:
                yield await _register(site, batch, tally)
    except StoreUnavailable:
        yield b'{"error":%s}\n' % _unavailable()
        return
    told = {key: tally[key] for key in ("created", "existing", "failed")}
    yield write_json({"lines": tally.total(), **told}) + b"\n"


async def _read_ahead(body: AsyncIterator[bytes]) -> AsyncGenerator[list[_Read]]:
    """Each batch with its lines read; the next one is on its way while the caller has one."""
    batches = _batches(body)

    async def following() -> list[_Read] | None:
        batch = await anext(batches, None)
        if batch is None:
            return None
        # On a thread: reading a batch takes tens of milliseconds, in which others are answered.
        return await asyncio.to_thread(lambda: [(number, _read(line)) for number, line in batch])

    coming = asyncio.create_task(following())
    try:
        while (batch := await coming) is not None:
            coming = asyncio.create_task(following())
            yield batch
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)


async def _batches(body: AsyncIterator[bytes]) -> AsyncIterator[list[_Numbered]]:
    """The lines that are not blank, as many at a time as one transaction takes."""
    lines = Lines()
    number = size = 0
    batch: list[_Numbered] = []
    async for piece in body:
        # The empty piece is Starlette's way to say that this was all.
        for line in lines.cut(piece) if piece else lines.end():
            number += 1
            if line is not None and not line.strip():
                continue
            batch.append((number, line))
            size += MOST_BYTES if line is None else len(line)
            if len(batch) >= BATCH_LINES or size >= BATCH_BYTES:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


async def _register(site: Site, batch: Sequence[_Read], tally: Counter[str]) -> bytes:
    """Register one batch; its lines of the answer. Raises StoreUnavailable."""
    specs = [each for _, each in batch if isinstance(each, JobSpec)]
    outcomes = iter(await register_many(site.jobs, site.team, specs, now=site.clock.now()))
    told = []
    for number, each in batch:
        outcome = next(outcomes) if isinstance(each, JobSpec) else each
        match outcome:
            case Added(job, created=True):
                tally["created"] += 1
                told.append(b'{"line":%d,"id":"%s","created":true}\n' % (number, job.ref.encode()))
            case Added(job):
                tally["existing"] += 1
                told.append(b'{"line":%d,"id":"%s","created":false}\n' % (number, job.ref.encode()))
            case _:
                tally["failed"] += 1
                told.append(b'{"line":%d,"error":%s}\n' % (number, _problem(outcome)))
    return b"".join(told)


def _read(line: bytes | None) -> JobSpec | DulyError | None:
    """The line's job, or its fault as POST /jobs finds it; None for one that was not kept."""
    if line is None:
        return None
    try:
        return read_job(read_json(line))
    except DulyError as error:
        return error


def _problem(error: DulyError | None) -> bytes:
    if error is not None:
        return bytes(problem_of(error).body)
    told = f"the line is larger than {MOST_BYTES} bytes, the most that is taken"
    return bytes(problem(413, told).body)


def _unavailable() -> bytes:
    told = (
        "a database does not answer; lines without an answer may or may not have taken effect: "
        "send all of it again, jobs with a name are not made twice"
    )
    return bytes(problem(503, told, kind="store-unavailable").body)
