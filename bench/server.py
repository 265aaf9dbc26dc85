"""A real `duly up` to measure from outside, as a user has it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

_START_S = 30


@contextmanager
def running(place: Path, *options: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Its address and the headers that let a client in."""
    command = [sys.executable, "-m", "duly", "up", "--data", str(place), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        url, headers = _wait(place)
        yield url, headers
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _wait(place: Path) -> tuple[str, dict[str, str]]:
    give_up_at = time.monotonic() + _START_S
    while time.monotonic() < give_up_at:
        try:
            url = (place / "address").read_text().strip()
            token = (place / "token").read_text().strip()
            if httpx.get(f"{url}/readyz", timeout=5).status_code == httpx.codes.OK:
                return url, {"Authorization": f"Bearer {token}"}
        except (FileNotFoundError, httpx.TransportError):
            pass
        time.sleep(0.05)
    raise TimeoutError("duly up did not become ready")
