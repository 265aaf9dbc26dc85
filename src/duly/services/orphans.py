"""Adopts and ends what a killed worker leaves running, so that no command outlives its lease.

The supervisor is made "child subreaper" (prctl(2)): processes whose parent dies become its own
children instead of init's. Whatever it did not start itself is such an orphan.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Collection

import psutil

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> bool:
    """Become the parent of orphaned descendants; False where the system cannot do that."""
    with contextlib.suppress(OSError, AttributeError):
        done: int = ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        return done == 0
    return False


def reap(known: Collection[int]) -> None:
    """Collect the exit of adopted processes, never of the supervisor's own (`known`)."""
    for child in psutil.Process().children():
        if child.pid not in known:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child.pid, os.WNOHANG)


def end_orphans(known: Collection[int]) -> int:
    """Kill every adopted process, its whole group where it leads one; how many were alive."""
    alive = 0
    for child in psutil.Process().children():
        if child.pid in known:
            continue
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError, PermissionError):
            if child.status() != psutil.STATUS_ZOMBIE:
                alive += 1
                if os.getpgid(child.pid) == child.pid:
                    os.killpg(child.pid, signal.SIGKILL)
                child.kill()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child.pid, os.WNOHANG)
    return alive
