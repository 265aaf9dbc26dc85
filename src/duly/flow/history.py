"""History: what became of runs, from the runs database and the archive as one.

The database comes first and wins: a day is dropped there only when the archive has it, so a run
that is in neither of the two is nowhere. Recent history never asks the archive.
"""

from __future__ import annotations

from dataclasses import replace

from duly.archive import Archive
from duly.run import Output, Run, RunKey, Status, Try
from duly.store import RunFilter, RunStore


async def find_run(runs: RunStore, archive: Archive | None, key: RunKey) -> Run | None:
    run = await runs.get(key)
    return run if run is not None or archive is None else await archive.get(key)


async def list_runs(
    runs: RunStore,
    archive: Archive | None,
    which: RunFilter,
    *,
    before: RunKey | None = None,
    limit: int = 100,
) -> list[Run]:
    """Runs, newest first by (scheduled_for, job_id), strictly older than the key `before`."""
    found = await runs.history(which, before=before, limit=limit)
    if archive is None:
        return found
    if len(found) == limit:
        # Only what is newer than the last of these could still belong between them.
        oldest = found[-1].key.scheduled_for
        which = replace(which, since=oldest if which.since is None else max(oldest, which.since))
    by_key = {run.key: run for run in await archive.history(which, before=before, limit=limit)}
    by_key |= {run.key: run for run in found}
    newest_first = sorted(by_key, key=lambda key: (key.scheduled_for, key.job_id), reverse=True)
    return [by_key[key] for key in newest_first[:limit]]


async def tries_of(runs: RunStore, archive: Archive | None, run: Run) -> list[Try]:
    """The run's recorded tries, in order."""
    tries = await runs.tries(run.key)
    if archive is None or len(tries) >= _recorded(run):
        return tries
    # Those of a run that ended long after its slot may be in both places.
    return [each for each in await archive.tries(run.key) if each not in tries] + tries


async def output_of(
    runs: RunStore, archive: Archive | None, run: Run, *, attempt: int | None = None
) -> Output | None:
    """What a try wrote; the last one that wrote anything, unless told."""
    output = await runs.output(run.key, attempt=attempt)
    if output is not None or archive is None:
        return output
    return await archive.output(run.key, attempt=attempt)


def _recorded(run: Run) -> int:
    """How many rows its tries have left: none for the one that goes on or succeeded at once."""
    begun = run.attempts + run.interruptions
    at_once = run.status is Status.SUCCEEDED and run.attempts == 1
    return begun - (1 if at_once or run.status is Status.RUNNING else 0)
