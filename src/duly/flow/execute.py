"""Execute: turn an assignment into an order and hand it to the executor.

Nothing is stored here. A crash after the start leaves a run under a lease that ends; its try is
then counted as lost.
"""

from __future__ import annotations

from collections.abc import Callable

from duly.executor import Execution, Executor, Order, Result
from duly.flow.claim import Assignment


def execute(
    executor: Executor, assignment: Assignment, on_end: Callable[[Result], None]
) -> Execution | None:
    """Start the command; `on_end` is called once with its result, perhaps before this returns."""
    run, task = assignment.run, assignment.task
    order = Order(
        key=run.key,
        attempt=run.attempt,
        token=run.token,
        command=task.command,
        input=task.input,
        timeout=task.timeout,
    )
    return executor.start(order, on_end)
