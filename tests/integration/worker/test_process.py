"""Commands as real processes: how they start, what is kept, how they end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from duly.backends.process import ProcessExecutor
from duly.backends.process_output import LIMIT
from duly.clock import SystemClock, micros
from duly.executor import NamedCommands, Order, Result
from duly.job import Command, JobState, Retry, Task
from duly.run import ClaimedRun, Outcome, Output

pytestmark = pytest.mark.anyio

SLOT_US = micros(datetime(2026, 10, 24, 2, tzinfo=UTC))
RUN = ClaimedRun(7, SLOT_US, SLOT_US, 2, 99, 1, manual=False)
NAMED = NamedCommands({"hello": Command(shell="echo hello")}, "worker.toml")


def order(command: Command, *, timeout_s: float = 20, stdin: str | None = None) -> Order:
    timeout = timedelta(seconds=timeout_s)
    return Order(RUN, Task(7, 1, JobState.ACTIVE, 1, 0, command, stdin, timeout, Retry()))


async def run(given: Order, *, during: Callable[[int], None] | None = None) -> Result:
    ended: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
    executor = ProcessExecutor(lambda: NAMED, SystemClock())
    execution = executor.start(given, ended.set_result)
    if execution is not None and during is not None:
        during(execution.pid)
    return await asyncio.wait_for(ended, 30)


async def shell(text: str, *, timeout_s: float = 20) -> Result:
    return await run(order(Command(shell=text), timeout_s=timeout_s))


def text(result: Result) -> str:
    return "" if result.output is None else result.output.joined().decode()


def alive(marker: str) -> list[int]:
    """Processes that carry `marker` in their arguments, zombies left out."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        arguments = process.info["cmdline"] or []
        if marker in " ".join(arguments) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process.pid)
    return found


async def test_an_argument_list_is_run_without_a_shell() -> None:
    result = await run(order(Command(exec=("printf", "%s|", "$HOME", "a b", ";ls"))))
    assert (result.outcome, result.exit_code) == (Outcome.SUCCEEDED, 0)
    assert text(result) == "$HOME|a b|;ls|"


async def test_a_shell_text_is_run_by_sh_or_by_the_shell_that_the_job_names() -> None:
    assert text(await shell('echo "$0 $((1+1))"')) == "/bin/sh 2\n"
    bash = Command(shell='echo "${BASH_VERSION:+bash}"', env=(("SHELL", "/bin/bash"),))
    assert text(await run(order(bash))) == "bash\n"


async def test_both_streams_are_kept_in_order() -> None:
    result = await shell("echo 1; echo 2 >&2; echo 3; echo 4 >&2")
    assert text(result) == "1\n2\n3\n4\n"


async def test_the_environment_is_clean_and_says_which_run_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET", "of the worker")
    monkeypatch.setenv("HOME", "")
    given = Command(exec=("env",), env=(("A", "b c"), ("LOGNAME", "mallory"), ("DULY_RUN_ID", "x")))
    lines = text(await run(order(given))).splitlines()
    assert sorted(lines) == [
        "A=b c",
        "DULY_ATTEMPT=2",
        "DULY_FENCING_TOKEN=99",
        "DULY_JOB_ID=j7",
        "DULY_RUN_ID=j7.20261024T020000Z",
        "DULY_SCHEDULED_FOR=2026-10-24T02:00:00Z",
        f"HOME={os.path.expanduser('~root')}",
        "LOGNAME=root",
        "PATH=/usr/local/bin:/usr/bin:/bin",
        "SHELL=/bin/sh",
        "USER=root",
    ]


async def test_a_command_starts_at_home_or_where_the_job_says(tmp_path: Path) -> None:
    assert text(await shell("pwd")) == f"{os.path.expanduser('~root')}\n"
    assert text(await run(order(Command(shell="pwd", cwd=str(tmp_path))))) == f"{tmp_path}\n"
    homeless = Command(shell="pwd", env=(("HOME", "/nonexistent"),))
    assert text(await run(order(homeless))) == "/\n"


async def test_input_comes_as_json_on_standard_input() -> None:
    assert text(await run(order(Command(exec=("cat",)), stdin='{"a":1}'))) == '{"a":1}'


async def test_standard_input_of_any_length_never_blocks() -> None:
    long = "x" * 3_000_000
    given = Command(shell="sleep 0.1; wc -c", stdin=long)
    assert text(await run(order(given))).strip() == str(len(long))
    unread = Command(shell="exit 0", stdin=long)
    assert (await run(order(unread))).outcome is Outcome.SUCCEEDED


async def test_without_input_standard_input_is_empty() -> None:
    assert text(await run(order(Command(shell="cat; echo end")))) == "end\n"


async def test_an_exit_code_fails_the_try() -> None:
    result = await shell("echo oops; exit 3")
    assert (result.outcome, result.exit_code, result.reason) == (Outcome.FAILED, 3, "exit code 3")
    assert text(result) == "oops\n"


async def test_a_signal_is_recorded_as_such() -> None:
    result = await shell("kill -SEGV $$")
    assert (result.outcome, result.exit_code, result.signal) == (Outcome.FAILED, None, 11)
    assert result.reason == "ended by signal 11 (SIGSEGV)"


async def test_a_name_is_looked_up_in_the_workers_configuration() -> None:
    assert text(await run(order(Command(name="hello")))) == "hello\n"
    result = await run(order(Command(name="other")))
    assert result.reason == (
        "cannot start: no command named 'other' in worker.toml (it has: hello)"
    )


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (
            Command(exec=("/no/such/program",)),
            "cannot start: the program '/no/such/program' does not exist",
        ),
        (
            Command(exec=("nosuchprogram",)),
            (
                "cannot start: the program 'nosuchprogram' is not in PATH "
                "(/usr/local/bin:/usr/bin:/bin)"
            ),
        ),
        (
            Command(exec=("/etc/passwd",)),
            (
                "cannot start: the program '/etc/passwd' may not be used by this user "
                "(not executable, or no permission)"
            ),
        ),
        (
            Command(exec=("true",), cwd="/no/such/dir"),
            "cannot start: the working directory '/no/such/dir' does not exist",
        ),
        (
            Command(exec=("true",), user="nosuchuser"),
            "cannot start: user 'nosuchuser' does not exist on this machine",
        ),
    ],
)
async def test_what_cannot_start_fails_at_once_and_says_why(command: Command, reason: str) -> None:
    """W026."""
    result = await run(order(command))
    assert (result.outcome, result.exit_code, result.reason) == (Outcome.FAILED, None, reason)


async def test_a_program_without_an_interpreter_line_says_so(tmp_path: Path) -> None:
    """W026."""
    program = tmp_path / "program"
    program.write_text("no interpreter here\n")
    program.chmod(0o755)
    result = await run(order(Command(exec=(str(program),))))
    assert result.reason == f"cannot start: the program '{program}' Exec format error"


async def test_failed_starts_leak_no_descriptor() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        await run(order(Command(exec=("/no/such/program",), stdin="x")))
        await shell("true")
    assert len(os.listdir("/proc/self/fd")) == before


async def test_the_timeout_ends_the_whole_group() -> None:
    """W001: TERM then KILL reach every process of the run, and the reason says timeout."""
    result = await shell("sleep 301.5 & sleep 302.5", timeout_s=0.3)
    assert (result.outcome, result.reason) == (
        Outcome.TIMED_OUT,
        "timeout: ran longer than 0.3 s",
    )
    assert alive("sleep 301.5") + alive("sleep 302.5") == []


async def test_a_group_that_ignores_term_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duly.backends.process._TIMEOUT_GRACE_S", 0.2)
    ended: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
    executor = ProcessExecutor(lambda: NAMED, SystemClock())
    stubborn = "trap '' TERM; (trap '' TERM; sleep 303.5) & while :; do sleep 304.5; done"
    execution = executor.start(order(Command(shell=stubborn)), ended.set_result)
    assert execution is not None
    await asyncio.sleep(0.3)
    execution.stop(Outcome.INTERRUPTED, "its worker was stopped", grace_s=0.2)
    result = await asyncio.wait_for(ended, 10)
    assert (result.outcome, result.signal) == (Outcome.INTERRUPTED, signal.SIGKILL)
    assert alive("sleep 303.5") + alive("sleep 304.5") == []


async def test_a_stop_after_the_end_is_harmless() -> None:
    """W003."""
    ended: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
    executor = ProcessExecutor(lambda: NAMED, SystemClock())
    execution = executor.start(order(Command(shell="exit 0")), ended.set_result)
    assert execution is not None
    result = await asyncio.wait_for(ended, 10)
    execution.stop(Outcome.TIMED_OUT, "late", grace_s=0)
    assert result.outcome is Outcome.SUCCEEDED


async def test_completion_follows_the_exit_not_the_end_of_the_pipe() -> None:
    """W004, W005: what is left of the group is ended, and the run says so."""
    began = time.monotonic()
    result = await shell("echo before; sleep 305.5 & exit 0")
    assert time.monotonic() - began < 2
    assert (result.outcome, text(result)) == (Outcome.SUCCEEDED, "before\n")
    assert result.reason == "processes that it left behind were ended"
    await asyncio.sleep(0.2)
    assert alive("sleep 305.5") == []


async def test_the_last_megabyte_before_the_exit_is_read_to_its_end() -> None:
    """W006."""
    result = await shell("head -c 1000000 /dev/zero | tr '\\0' a; printf END")
    assert result.output is not None
    assert result.output.tail[-3:] == b"END"
    assert len(result.output.head) + len(result.output.tail) + result.output.dropped == 1_000_003


async def test_output_up_to_the_limit_is_kept_whole() -> None:
    result = await shell(f"head -c {LIMIT} /dev/urandom")
    assert result.output is not None
    assert (len(result.output.head), result.output.tail, result.output.dropped) == (LIMIT, b"", 0)


async def test_a_flood_keeps_head_and_tail_in_flat_memory() -> None:
    """W007."""
    before = psutil.Process().memory_info().rss
    flood = f"{sys.executable} -c \"import os,sys; b=b'x'*1048576; os.write(1,b'HEAD')\n"
    flood += "for _ in range(300): os.write(1,b)\nos.write(1,b'TAIL')\""
    result = await shell(flood)
    assert result.output is not None
    assert (result.output.head[:4], result.output.tail[-4:]) == (b"HEAD", b"TAIL")
    kept = len(result.output.head) + len(result.output.tail)
    assert (kept, result.output.dropped) == (LIMIT, 300 * 1048576 + 8 - LIMIT)
    assert psutil.Process().memory_info().rss - before < 30_000_000


async def test_any_bytes_are_kept_as_they_are() -> None:
    """W008."""
    result = await shell(r"printf '\000\377\033[31m\303'; sleep 0.05; printf '\244'")
    assert result.output == Output(b"\x00\xff\x1b[31m\xc3\xa4")


async def test_no_zombie_stays() -> None:
    """W009, W011: ended commands are reaped from their own exit."""
    pids: list[int] = []
    await run(order(Command(shell="exit 0")), during=pids.append)
    assert not psutil.pid_exists(pids[0])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
async def test_root_can_run_a_command_as_another_user() -> None:
    given = Command(shell="id -un; id -Gn; echo $HOME $LOGNAME", user="nobody")
    assert text(await run(order(given))) == "nobody\nnogroup\n/nonexistent nobody\n"
