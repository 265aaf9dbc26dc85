"""Which job each line of a crontab is: new, unchanged or changed; and which jobs have no line left.

Pure. The crontab decides when its jobs run, what, as whom, their description and their alert;
everything else of a job (timeout, retries, pause ...) is set when it is added and then belongs to
whoever edits it.

Lines carry no ids, so they are recognised, job by job once:

    all equal ─► same command and times ─► same command ─► same name ─► else a new job
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duly.cli.crontab_names import without_number

# cron(8) gives a command these and nothing of its own environment.
_CRON_ENV = {"SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
# cron waits for no run, catches nothing up, and never tries again.
_AS_CRON_DOES: dict[str, Any] = {
    "overlap": "allow",
    "missed": "skip",
    "retry": {"tries": 1},
    "timeout": "7d",
}


@dataclass(frozen=True, slots=True)
class Said:
    """What a line of a crontab says about its job. Equal values are the same line.

    Args:
        owner: whom MAILTO names; None leaves a job's owner as it is.
    """

    schedule: str
    timezone: str
    shell: str
    user: str | None
    stdin: str | None
    env: Mapping[str, str]
    description: str | None
    alert: str
    owner: str | None

    @property
    def command(self) -> dict[str, Any]:
        """The command as the API takes it."""
        parts = {"shell": self.shell, "env": dict(self.env), "stdin": self.stdin, "user": self.user}
        return {name: value for name, value in parts.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Line:
    """A line that can be imported.

    Args:
        name: the name it gets where that is free.
    """

    file: str
    number: int
    source: str
    name: str
    said: Said


@dataclass(frozen=True, slots=True)
class Match:
    """A line and the job that it already is, if any."""

    line: Line
    job: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Matched:
    """All lines in their order, and the jobs that have none."""

    matches: tuple[Match, ...]
    gone: tuple[Mapping[str, Any], ...]


def cron_env(settings: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command under cron, with what the crontab sets."""
    return {**_CRON_ENV, **settings}


def match(lines: Sequence[Line], jobs: Sequence[Mapping[str, Any]]) -> Matched:
    """Recognise the lines of one crontab among the jobs that came from it.

    Equal lines are as many jobs; which of them is which does not matter, so they pair in order.
    """
    job_of: dict[int, Mapping[str, Any]] = {}
    left_lines = list(range(len(lines)))
    left_jobs = sorted(jobs, key=lambda job: int(job["id"].removeprefix("j")))
    for key_of_line, key_of_job in _WAYS:
        waiting: defaultdict[Any, deque[Mapping[str, Any]]] = defaultdict(deque)
        for job in left_jobs:
            waiting[key_of_job(job)].append(job)
        for index in left_lines:
            if same := waiting.get(key_of_line(lines[index])):
                job_of[index] = same.popleft()
        left_lines = [index for index in left_lines if index not in job_of]
        found = {job["id"] for job in job_of.values()}
        left_jobs = [job for job in left_jobs if job["id"] not in found]
    matches = tuple(Match(line, job_of.get(index)) for index, line in enumerate(lines))
    return Matched(matches, tuple(left_jobs))


def body(line: Line, name: str) -> dict[str, Any]:
    """The request that adds the line as a new job."""
    said = line.said
    fields = {
        "name": name,
        "schedule": said.schedule,
        "timezone": said.timezone,
        "command": said.command,
        "description": said.description,
        "owner": said.owner,
        "alert": said.alert,
        "source": line.source,
        **_AS_CRON_DOES,
    }
    return {field: value for field, value in fields.items() if value is not None}


def changes(line: Line, job: Mapping[str, Any]) -> dict[str, Any]:
    """What of the job differs from its line, as a merge patch; empty where nothing does."""
    said, known = line.said, said_by(job)
    patch: dict[str, Any] = {}
    for field in ("schedule", "timezone", "description", "alert"):
        if getattr(said, field) != getattr(known, field):
            patch[field] = getattr(said, field)
    if said.owner is not None and said.owner != known.owner:
        patch["owner"] = said.owner
    command = job["command"]
    if isinstance(command, str):
        patch["command"] = said.command
    elif said.command != command:
        patch["command"] = _patch(said.command, command)
    return patch


def said_by(job: Mapping[str, Any]) -> Said:
    """A job of the API, reduced to what a crontab can say."""
    command = job.get("command") or {}
    if isinstance(command, str):
        command = {}
    return Said(
        schedule=job["schedule"],
        timezone=job["timezone"],
        shell=command.get("shell") or "",
        user=command.get("user"),
        stdin=command.get("stdin"),
        env=command.get("env") or {},
        description=job.get("description"),
        alert=job.get("alert") or "owner",
        owner=job.get("owner"),
    )


def _patch(wanted: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch that turns `known` into `wanted`: what goes is named with null."""
    gone: dict[str, Any] = {key: None for key in known if key not in wanted}
    changed = {key: value for key, value in wanted.items() if value != known.get(key)}
    if "env" in changed:
        changed["env"] = _patch(changed["env"], known.get("env") or {})
    return {**gone, **changed}


def _equal(said: Said) -> Any:
    return (
        said.schedule,
        said.timezone,
        said.command["shell"],
        said.user,
        said.stdin,
        frozenset(said.env.items()),
        said.description,
        said.alert,
    )


def _same_times(said: Said) -> Any:
    return (said.schedule, said.timezone, said.shell, said.user)


def _same_schedule(said: Said) -> Any:
    return (said.schedule, said.shell, said.user)


def _same_command(said: Said) -> Any:
    return (said.shell, said.user)


_Way = tuple[Callable[[Line], Any], Callable[[Mapping[str, Any]], Any]]


def _by(key: Callable[[Said], Any]) -> _Way:
    return (lambda line: key(line.said), lambda job: key(said_by(job)))


_WAYS: tuple[_Way, ...] = (
    _by(_equal),
    _by(_same_times),
    _by(_same_schedule),
    _by(_same_command),
    (lambda line: line.name, lambda job: without_number(job.get("name") or "")),
)
