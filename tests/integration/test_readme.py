"""The tour of the README works when pasted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.integration.duly_up import duly_up

README = Path(__file__).parents[2] / "README.md"


def test_the_tour_works_when_pasted(tmp_path: Path) -> None:
    tour = "\n".join(re.findall(r"^```sh\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL))
    data = tmp_path / ".local" / "share" / "duly"
    with duly_up(data) as up:
        script = tour.replace("http://127.0.0.1:7437", str(up.http.base_url).rstrip("/"))
        script = script.replace("/tmp/tour-crontab", str(tmp_path / "crontab"))  # noqa: S108
        script = script.replace('"$PWD/.venv/bin:$PATH"', f'"{Path(sys.executable).parent}:$PATH"')
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail"],
            input=script,
            env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TERM": "dumb"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    for told in (
        "02:30 comes twice",
        "hello, this is j1.",
        "weekdays 09:30",
        '"name":"report"',
    ):
        assert told in done.stdout, done.stdout
    assert done.stderr == "", done.stderr
