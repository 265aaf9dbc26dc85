"""The loop that every role stands on, written once: do a step, wait as long as it says, again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from duly.errors import StoreUnavailable
from duly.telemetry import Telemetry

_FIRST_BACKOFF_S = 0.1
_LAST_BACKOFF_S = 5.0


class Bell:
    """Ends a wait early. Rings that come while nobody waits are kept as one."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self, timeout_s: float | None) -> None:
        """Until rung, `timeout_s` at most."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._rung.wait()
        except TimeoutError:
            pass
        self._rung.clear()


class Stop:
    """Asks loops to end: softly at first (finish what is going on), then at once."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()
        self._bells: list[Bell] = []

    def wakes(self, bell: Bell) -> Bell:
        """Ring `bell` when the stop comes; returns it."""
        self._bells.append(bell)
        return bell

    def ask(self) -> None:
        """Stop; asked again, at once."""
        (self.at_once if self.asked.is_set() else self.asked).set()
        for bell in self._bells:
            bell.ring()


async def repeat(
    name: str,
    step: Callable[[], Awaitable[float]],
    *,
    stop: Stop,
    telemetry: Telemetry,
    bell: Bell | None = None,
) -> None:
    """Call `step` until the stop; it returns the seconds until it wants to be called again.

    A database that does not answer is reported and tried again, the waits doubling up to 5 s; any
    other error is a bug and ends the process, whose supervisor starts it anew.
    """
    bell = stop.wakes(bell or Bell())
    backoff_s = _FIRST_BACKOFF_S
    while not stop.asked.is_set():
        try:
            delay_s = await step()
            backoff_s = _FIRST_BACKOFF_S
        except StoreUnavailable as error:
            telemetry.trouble("store_unavailable", loop=name, error=str(error), retry_s=backoff_s)
            delay_s, backoff_s = backoff_s, min(backoff_s * 2, _LAST_BACKOFF_S)
        if delay_s > 0 and not stop.asked.is_set():
            await bell.wait(delay_s)
