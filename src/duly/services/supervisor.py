"""The supervisor: keeps API, scheduler and worker running as processes of one machine.

A role that dies is started again, at once the first time and with growing waits when it keeps
dying. When the worker dies its orphaned commands are ended first, and the new worker is told whom
it replaces, so that the lost runs are handed on now instead of when the lease would end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from duly.clock import Clock
from duly.services.loop import Stop
from duly.services.orphans import adopt_orphans, end_orphans, reap
from duly.telemetry import Telemetry

_REAP_S = 1.0
_STEADY_S = 10.0
_LAST_BACKOFF_S = 5.0
_ORPHANS_S = 10.0
_REMEMBERED = 20
# What a role may take beyond its own grace before it is killed.
_EXTRA_GRACE_S = 15.0


@dataclass(frozen=True, slots=True)
class Role:
    """A process to keep.

    Args:
        name: what people call it.
        argv: builds its command line, given the name of this instance and those of the dead ones
            that it replaces.
        runs_commands: whether its death leaves orphans.
        stops_last: whether it goes on while the others drain.
        pass_fds: descriptors that it inherits.
    """

    name: str
    argv: Callable[[str, Sequence[str]], Sequence[str]]
    runs_commands: bool = False
    stops_last: bool = False
    pass_fds: tuple[int, ...] = ()


class Supervisor:
    """Keeps its roles alive until stopped.

    Args:
        instance: names a new process of a role, uniquely.
        grace_s: what the roles themselves grant to commands when stopped.
    """

    def __init__(
        self,
        roles: Sequence[Role],
        clock: Clock,
        telemetry: Telemetry,
        *,
        instance: Callable[[], str],
        grace_s: float,
    ) -> None:
        self._roles = roles
        self._clock = clock
        self._telemetry = telemetry
        self._instance = instance
        self._grace_s = grace_s
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    async def run(self, stop: Stop) -> None:
        """Start all roles, keep them, and on the stop end them in order."""
        if not adopt_orphans():
            self._telemetry.trouble("no_subreaper", means="a killed worker's commands live on")
        last = Stop()
        async with asyncio.TaskGroup() as tasks:
            reaper = tasks.create_task(self._reap())
            keepers = [
                tasks.create_task(self._keep(r, stop)) for r in self._roles if not r.stops_last
            ]
            lasting = [tasks.create_task(self._keep(r, last)) for r in self._roles if r.stops_last]
            await asyncio.wait(keepers)
            last.ask()
            if lasting:
                await asyncio.wait(lasting)
            reaper.cancel()
        end_orphans(())

    async def _keep(self, role: Role, stop: Stop) -> None:
        dead: list[str] = []
        backoff_s = 0.0
        while not stop.asked.is_set():
            instance = self._instance()
            began = self._clock.monotonic()
            # A session of its own: Ctrl-C in the terminal reaches the supervisor alone, which then
            # stops the roles in order.
            process = subprocess.Popen(  # noqa: ASYNC220 - returns at once
                role.argv(instance, dead), start_new_session=True, pass_fds=role.pass_fds
            )
            self._processes[role.name] = process
            self._telemetry.say("role_started", of=role.name, pid=process.pid)
            await self._watch(role, process, stop)
            if stop.asked.is_set():
                return
            lasted = self._clock.monotonic() - began
            backoff_s = 0.0 if lasted > _STEADY_S else min(max(0.1, backoff_s * 2), _LAST_BACKOFF_S)
            self._telemetry.trouble(
                "role_died",
                of=role.name,
                pid=process.pid,
                exit=process.returncode,
                wait_s=backoff_s,
            )
            # All of them: the next may die before it has taken over from the one before.
            dead = [*dead[-_REMEMBERED:], instance]
            if role.runs_commands:
                await self._end_orphans()
            await _first(stop.asked.wait(), asyncio.sleep(backoff_s))

    async def _watch(self, role: Role, process: subprocess.Popen[bytes], stop: Stop) -> None:
        """Until the process has ended; pass on a stop, and force it when it overstays."""
        ended = asyncio.Event()
        pidfd = os.pidfd_open(process.pid)
        asyncio.get_running_loop().add_reader(pidfd, ended.set)
        try:
            await _first(ended.wait(), stop.asked.wait())
            if not ended.is_set():
                process.send_signal(signal.SIGTERM)
                overstayed = asyncio.sleep(self._grace_s + _EXTRA_GRACE_S)
                await _first(ended.wait(), stop.at_once.wait(), overstayed)
            if not ended.is_set():
                process.send_signal(signal.SIGTERM)
                await _first(ended.wait(), asyncio.sleep(_EXTRA_GRACE_S))
            if not ended.is_set():
                self._telemetry.trouble("role_killed", of=role.name, pid=process.pid)
                process.kill()
                await ended.wait()
        finally:
            asyncio.get_running_loop().remove_reader(pidfd)
            os.close(pidfd)
            process.wait()

    async def _end_orphans(self) -> None:
        give_up_at = self._clock.monotonic() + _ORPHANS_S
        while (alive := end_orphans(self._known())) and self._clock.monotonic() < give_up_at:
            self._telemetry.trouble("orphans_ended", processes=alive)
            await asyncio.sleep(0.01)

    async def _reap(self) -> None:
        while True:
            await asyncio.sleep(_REAP_S)
            reap(self._known())

    def _known(self) -> set[int]:
        return {process.pid for process in self._processes.values()}


async def _first(*waits: object) -> None:
    """Until the first of these ends; the others are given up."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]  # type: ignore[call-overload]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
