"""Runs `exec` and `shell` commands as processes of this machine.

Each command leads a session and process group of its own, and both its streams share one pipe, so
their order is kept. Its end is noticed from the process itself (a pidfd), never from the end of the
pipe: a child that inherited the pipe can hold it open for days. What the command left in the pipe
is read to the last byte that was there when it ended.

Why not asyncio's subprocesses: they wait for the pipe's end as well, and cost twice the time.
(uvloop's start processes five times slower still, which is why the worker does not use it.)
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import subprocess
import termios
from collections.abc import Callable, Iterator
from typing import NoReturn

from duly.backends.process_output import OutputKeeper
from duly.backends.process_setup import CannotStart, Launch, prepare
from duly.clock import Clock
from duly.executor import NamedCommands, Order, Result
from duly.run import Outcome

_CHUNK = 65_536
_TIMEOUT_GRACE_S = 10.0
# How long to wait for a killed group to be gone, and how often to look.
_GONE_S = 5.0
_LOOK_S = 0.005


class ProcessExecutor:
    """`Executor` for commands that are processes.

    Args:
        named: looked up for commands given by name.
        clock: stamps start and end.
    """

    def __init__(self, named: Callable[[], NamedCommands], clock: Clock) -> None:
        self._named = named
        self._clock = clock

    def start(self, order: Order, on_end: Callable[[Result], None]) -> ProcessExecution | None:
        at_us = self._clock.now_us()
        try:
            launch = prepare(order, self._named)
            process, pipe = _spawn(launch)
        except CannotStart as error:
            on_end(Result(Outcome.FAILED, at_us, self._clock.now_us(), reason=str(error)))
            return None
        # The command has begun by the time the start returns; this is the honest moment.
        execution = ProcessExecution(process, pipe, self._clock, self._clock.now_us(), on_end)
        execution.watch(order.task.timeout.total_seconds())
        return execution


class ProcessExecution:
    """One process, its pipe and its deadline. Driven by the event loop; no task, no thread."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        pipe: int,
        clock: Clock,
        started_us: int,
        on_end: Callable[[Result], None],
    ) -> None:
        self._process = process
        self._pipe = pipe
        self._pidfd = os.pidfd_open(process.pid)
        self._clock = clock
        self._started_us = started_us
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._output = OutputKeeper()
        self._stopped: tuple[Outcome, str] | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._ended = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def watch(self, timeout_s: float) -> None:
        self._loop.add_reader(self._pidfd, self._exited)
        self._loop.add_reader(self._pipe, self._readable)
        told = f"timeout: ran longer than {timeout_s:g} s"
        self._later(timeout_s, lambda: self.stop(Outcome.TIMED_OUT, told))

    def stop(self, outcome: Outcome, reason: str, *, grace_s: float = _TIMEOUT_GRACE_S) -> None:
        if self._ended:
            return
        if self._stopped is None:
            self._stopped = (outcome, reason)
        self._signal(signal.SIGTERM)
        self._later(grace_s, lambda: self._signal(signal.SIGKILL))

    def _readable(self) -> None:
        try:
            chunk = os.read(self._pipe, _CHUNK)
        except BlockingIOError:
            return
        if chunk:
            self._output.write(chunk)
        else:
            # Every writer has closed it; the process itself may go on silently.
            self._loop.remove_reader(self._pipe)

    def _exited(self) -> None:
        """The command itself has ended: keep its last bytes, reap it, end what it left behind."""
        self._loop.remove_reader(self._pidfd)
        self._loop.remove_reader(self._pipe)
        for timer in self._timers:
            timer.cancel()
        self._drain()
        returncode = self._process.wait()
        os.close(self._pidfd)
        os.close(self._pipe)
        if self._stopped is not None:
            # A stopped try is over only when nothing of it lives.
            self._signal(signal.SIGKILL)
            self._finish_when_gone(returncode, self._clock.monotonic() + _GONE_S)
        else:
            self._finish(returncode, left_behind=self._end_leftovers())

    def _drain(self) -> None:
        """Read what is in the pipe now, and no more: a surviving child may write for ever."""
        waiting = bytearray(4)
        fcntl.ioctl(self._pipe, termios.FIONREAD, waiting)
        left = int.from_bytes(waiting, "little")
        while left > 0:
            chunk = os.read(self._pipe, min(left, _CHUNK))
            if not chunk:
                break
            self._output.write(chunk)
            left -= len(chunk)

    def _end_leftovers(self) -> bool:
        """Ask what is left of the group to end, and force it later; whether there was anything."""
        if not self._signal(signal.SIGTERM):
            return False
        self._loop.call_later(_TIMEOUT_GRACE_S, self._signal, signal.SIGKILL)
        return True

    def _finish_when_gone(self, returncode: int, give_up_at: float) -> None:
        if self._signal(signal.SIGKILL) and self._clock.monotonic() < give_up_at:
            self._loop.call_later(_LOOK_S, self._finish_when_gone, returncode, give_up_at)
        else:
            self._finish(returncode, left_behind=False)

    def _finish(self, returncode: int, *, left_behind: bool) -> None:
        self._ended = True
        outcome, reason = _judge(returncode, self._stopped)
        if left_behind:
            note = "processes that it left behind were ended"
            reason = note if reason is None else f"{reason}; {note}"
        self._on_end(
            Result(
                outcome=outcome,
                started_us=self._started_us,
                finished_us=self._clock.now_us(),
                exit_code=returncode if returncode >= 0 else None,
                signal=-returncode if returncode < 0 else None,
                reason=reason,
                output=self._output.kept(),
            )
        )

    def _signal(self, number: signal.Signals) -> bool:
        """Signal the whole group; False where nothing is left of it."""
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            # It changed its user; the group lives and is beyond our rights.
            return True
        return True

    def _later(self, delay_s: float, call: Callable[[], object]) -> None:
        self._timers.append(self._loop.call_later(delay_s, call))


def _judge(returncode: int, stopped: tuple[Outcome, str] | None) -> tuple[Outcome, str | None]:
    if stopped is not None:
        return stopped
    if returncode == 0:
        return Outcome.SUCCEEDED, None
    if returncode < 0:
        return Outcome.FAILED, f"ended by signal {-returncode} ({_signal_name(-returncode)})"
    return Outcome.FAILED, f"exit code {returncode}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "real-time signal"


def _spawn(launch: Launch) -> tuple[subprocess.Popen[bytes], int]:
    """Start the process; its handle and the reading end of its output."""
    with contextlib.ExitStack() as cleanup:
        try:
            reading, writing = os.pipe()
        except OSError as error:
            raise CannotStart(f"cannot make a pipe: {error.strerror}") from error
        cleanup.callback(os.close, writing)
        on_failure = cleanup.enter_context(_closed_on_failure(reading))
        del on_failure
        os.set_blocking(reading, False)
        stdin = cleanup.enter_context(_stdin(launch.stdin))
        try:
            process = subprocess.Popen(
                launch.argv,
                stdin=stdin,
                stdout=writing,
                stderr=writing,
                cwd=launch.cwd,
                env=launch.env,
                start_new_session=True,
                user=launch.uid,
                group=launch.gid,
                extra_groups=launch.groups,
            )
        except OSError as error:
            _explain(launch, error)
    return process, reading


@contextlib.contextmanager
def _closed_on_failure(descriptor: int) -> Iterator[None]:
    try:
        yield
    except BaseException:
        os.close(descriptor)
        raise


@contextlib.contextmanager
def _stdin(data: bytes | None) -> Iterator[int]:
    """A descriptor to read `data` from: memory, so that no writer must wait for the command."""
    if data is None:
        yield subprocess.DEVNULL
        return
    descriptor = os.memfd_create("stdin")
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _explain(launch: Launch, error: OSError) -> NoReturn:
    """Say what could not be started and why, in the words of the job's author."""
    if error.filename == launch.cwd:
        what = f"the working directory {launch.cwd!r}"
    else:
        what = f"the program {launch.argv[0]!r}"
    match error:
        case FileNotFoundError():
            why = "does not exist"
            if what.startswith("the program") and "/" not in launch.argv[0]:
                why = f"is not in PATH ({launch.env.get('PATH', '')})"
        case NotADirectoryError():
            why = "is not a directory, or leads through a file"
        case PermissionError():
            why = "may not be used by this user (not executable, or no permission)"
        case _:
            why = error.strerror or str(error)
    raise CannotStart(f"cannot start: {what} {why}") from error
