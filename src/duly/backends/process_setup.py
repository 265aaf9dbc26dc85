"""What a command starts with: arguments, environment, directory, user, standard input.

The environment is clean: nothing of the worker's own reaches a command but what stands here, as
with cron. HOME, LOGNAME, USER, SHELL and PATH are those of the user that the command runs as; the
job's own settings come on top (LOGNAME and USER cannot be set, as crontab(5) has it); the DULY_
variables are always Duly's.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from duly.errors import DulyError, InvalidConfig
from duly.executor import NamedCommands, Order
from duly.job import Command, job_ref

PATH = "/usr/local/bin:/usr/bin:/bin"
SHELL = "/bin/sh"


class CannotStart(DulyError):
    """The command cannot be started."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A process about to be started. `uid` and the groups are None to stay the worker's user."""

    argv: Sequence[str]
    env: dict[str, str]
    cwd: str
    stdin: bytes | None
    uid: int | None = None
    gid: int | None = None
    groups: Sequence[int] | None = None


def prepare(order: Order, named: Callable[[], NamedCommands]) -> Launch:
    """Decide all of it. Raises CannotStart where the name or the user is not known here."""
    run, task = order
    command = _resolve(task.command, named)
    user = _user(command.user)
    own = {"LOGNAME": user.pw_name, "USER": user.pw_name}
    env = {"HOME": user.pw_dir, "SHELL": SHELL, "PATH": PATH, **dict(command.env), **own}
    env |= {
        "DULY_RUN_ID": str(run.key),
        "DULY_JOB_ID": job_ref(run.job_id),
        "DULY_SCHEDULED_FOR": run.scheduled_for.isoformat().replace("+00:00", "Z"),
        "DULY_ATTEMPT": str(run.attempt),
        "DULY_FENCING_TOKEN": str(run.token),
    }
    argv = command.exec if command.exec is not None else (env["SHELL"], "-c", command.shell or "")
    stdin = command.stdin if command.stdin is not None else task.input
    launch = Launch(
        argv=argv,
        env=env,
        cwd=command.cwd or _home(env["HOME"]),
        stdin=None if stdin is None else stdin.encode("utf-8", "surrogateescape"),
    )
    if user.pw_uid == os.geteuid():
        return launch
    if os.geteuid() != 0:
        raise CannotStart(f"only a worker that runs as root can run as user {user.pw_name!r}")
    groups = os.getgrouplist(user.pw_name, user.pw_gid)
    return replace(launch, uid=user.pw_uid, gid=user.pw_gid, groups=groups)


def _resolve(command: Command, named: Callable[[], NamedCommands]) -> Command:
    if command.name is None:
        return command
    try:
        known = named()
    except InvalidConfig as error:
        raise CannotStart(f"cannot start: {error}") from error
    found = known.commands.get(command.name)
    if found is None:
        names = ", ".join(sorted(known.commands)) or "none"
        raise CannotStart(
            f"cannot start: no command named {command.name!r} in {known.source} (it has: {names})"
        )
    return found


@lru_cache(maxsize=256)
def _user(name: str | None) -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(os.geteuid()) if name is None else pwd.getpwnam(name)
    except KeyError as error:
        who = f"user {name!r}" if name is not None else f"user number {os.geteuid()}"
        raise CannotStart(f"cannot start: {who} does not exist on this machine") from error


def _home(home: str) -> str:
    """The user's home to start in, or the root where it does not exist (as for `nobody`)."""
    return home if os.path.isdir(home) else "/"  # noqa: PTH112 - called for every run
