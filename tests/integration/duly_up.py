"""A real `duly up` as a process of its own, for tests that use it from outside."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import psutil

START_S = 30.0
STOP_S = 60.0


@dataclass(frozen=True, slots=True)
class Up:
    """A running Duly: its supervisor, its folder, a client of its API."""

    process: subprocess.Popen[bytes]
    data: Path
    http: httpx.Client

    def role(self, name: str) -> psutil.Process | None:
        """The process of one role, or None while it is down."""
        for child in psutil.Process(self.process.pid).children():
            try:
                if child.cmdline()[1:4] == ["-m", "duly", name]:
                    return child
            except (psutil.NoSuchProcess, psutil.ZombieProcess):
                continue
        return None

    def log(self) -> str:
        return (self.data / "log").read_text()

    def register(self, **fields: Any) -> dict[str, Any]:
        """A job that does nothing every second, but for these fields."""
        body = {"schedule": "every 1 second", "command": {"exec": ["true"]}, **fields}
        job: dict[str, Any] = self.http.post("/jobs", json=body).raise_for_status().json()
        return job

    def history(self, since: datetime, until: datetime) -> list[dict[str, Any]]:
        """The runs scheduled from one moment to another, both included."""
        return history(self.http, since, until)


@contextmanager
def duly_up(data: Path, *options: str) -> Iterator[Up]:
    """Start Duly, wait until it is ready, and stop it at the end."""
    data.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-m", "duly", "up", "--data", str(data), "--port", "0", *options]
    with (data / "log").open("wb") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log)
    http = httpx.Client(timeout=30)
    try:
        _wait_until_ready(data, http, process)
        yield Up(process, data, http)
    finally:
        http.close()
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(STOP_S)


def history(http: httpx.Client, since: datetime, until: datetime) -> list[dict[str, Any]]:
    """The runs scheduled from one moment to another, both included, page by page."""
    bounds = {"since": since.isoformat(), "until": until.isoformat(), "limit": "1000"}
    answer = http.get("/runs", params=bounds)
    runs: list[dict[str, Any]] = answer.json()
    while "next" in answer.links:
        answer = http.get(answer.links["next"]["url"])
        runs += answer.json()
    return runs


def _wait_until_ready(data: Path, http: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    give_up_at = time.monotonic() + START_S
    while time.monotonic() < give_up_at and process.poll() is None:
        try:
            http.base_url = httpx.URL((data / "address").read_text().strip())
            http.headers["Authorization"] = f"Bearer {(data / 'token').read_text().strip()}"
            if http.get("/readyz").status_code == httpx.codes.OK:
                return
        except (FileNotFoundError, httpx.TransportError):
            pass
        time.sleep(0.05)
    raise AssertionError(f"Duly did not become ready:\n{(data / 'log').read_text()}")


def until(condition: object, *, timeout_s: float = 20.0, every_s: float = 0.05) -> None:
    """Wait until `condition()` is true; a test's way to wait for other processes."""
    assert callable(condition)
    give_up_at = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < give_up_at, f"waited {timeout_s} s in vain"
        time.sleep(every_s)
