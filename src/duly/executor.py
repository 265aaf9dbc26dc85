"""The contract between a worker and whatever carries out a command.

    worker ── start(order, on_end) ──► executor ──► process, request, function
       ▲                                   │
       └────────── on_end(result) ◄────────┘   exactly once, on the worker's event loop

The worker never waits for an execution: it is told. `stop` may come at any time, also twice, also
after the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from duly.job import Command, Task
from duly.run import ClaimedRun, Outcome, Output


class Order(NamedTuple):
    """A run to be executed, and what its job says of it.

    Its token is the fencing token too: it rises with every claim, so the outside world can refuse
    a try that was overtaken.
    """

    run: ClaimedRun
    task: Task


class Result(NamedTuple):
    """How a command ended.

    Args:
        outcome: one of the ways a try ends.
        started_us, finished_us: by the worker's clock, in whole microseconds.
        exit_code: its exit status; None where a signal ended it or it never started.
        signal: the number of the signal that ended it.
        reason: what went wrong, in a few words.
        output: what it wrote.
    """

    outcome: Outcome
    started_us: int
    finished_us: int
    exit_code: int | None = None
    signal: int | None = None
    reason: str | None = None
    output: Output | None = None


class Execution(Protocol):
    """A command under way."""

    @property
    def pid(self) -> int:
        """The process that carries it out."""
        ...

    def stop(self, outcome: Outcome, reason: str, *, grace_s: float) -> None:
        """End it and everything it started: ask, wait at most `grace_s`, then force.

        The first stop decides the outcome that `on_end` reports.
        """
        ...


class Executor(Protocol):
    """Carries out commands of the kinds it knows."""

    def start(self, order: Order, on_end: Callable[[Result], None]) -> Execution | None:
        """Begin; None where it ended at once (then on_end has been called: it could not start)."""
        ...


@dataclass(frozen=True, slots=True)
class NamedCommands:
    """The commands that a worker's configuration defines, by name."""

    commands: Mapping[str, Command]
    source: str
