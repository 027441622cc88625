"""`python -m switchboard.demo` as somebody runs it: what it says, how it ends, what it leaves."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import signal
import sys
import termios
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from switchboard.demo.happened import DidNotHappen
from switchboard.demo.narrator import reason
from switchboard.domain.credential import CREDENTIAL, LEASE_TOKEN, OPERATOR_TOKEN

BOUND_S = 100.0
CTRL_C = b"\x03"
COLOUR = re.compile(rb"\x1b\[[0-9;]*(3|4|9|10)[0-9]m")
STEPS = [
    "1/10 Start a scratch service",
    "2/10 Vend an endpoint",
    "3/10 Connect an agent with the official MCP client",
    "4/10 Add todos through the API",
    "5/10 Doorbell, claim, heartbeat, complete",
    "6/10 A worker crashes while it holds a lease",
    "7/10 Its lease lapses and another agent takes over",
    "8/10 Revoke the endpoint while it holds a claim",
    "9/10 Count the todos",
    "10/10 Stop the service and remove its data",
]


class Telling:
    """A running demo and what it has said."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.said = ""

    async def until(self, text: str) -> None:
        """Read on until a line holds `text`."""
        assert self.process.stdout is not None
        while line := (await self.process.stdout.readline()).decode():
            self.said += line
            if text in line:
                return
        pytest.fail(f"the demo never said {text!r}:\n{self.said}")

    async def end(self) -> int:
        """Read to the end; the exit code."""
        assert self.process.stdout is not None
        self.said += (await self.process.stdout.read()).decode()
        return await self.process.wait()

    def service_pid(self) -> int:
        return int(self._found(r"process (\d+) serves at http://127\.0\.0\.1:\d+"))

    def data_directory(self) -> Path:
        return Path(self._found(r"its data lie in (.+)"))

    def _found(self, pattern: str) -> str:
        found = re.search(pattern, self.said)
        assert found is not None, self.said
        return found[1]


@asynccontextmanager
async def telling(directory: Path, **environment: str) -> AsyncGenerator[Telling]:
    """The demo in a process whose temporary files go to `directory`."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "switchboard.demo"),
        stdout=PIPE,
        stderr=STDOUT,
        env=os.environ | {"TMPDIR": str(directory)} | environment,
    )
    try:
        async with asyncio.timeout(BOUND_S):
            yield Telling(process)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


@asynccontextmanager
async def on_a_terminal(directory: Path, **environment: str) -> AsyncGenerator[tuple[int, Process]]:
    """The demo in a terminal of its own, of which we hold the other side."""
    ours, theirs = os.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "switchboard.demo"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TMPDIR": str(directory)} | environment,
        preexec_fn=partial(_take_terminal, theirs),
    )
    os.close(theirs)
    try:
        async with asyncio.timeout(BOUND_S):
            yield ours, process
    finally:
        os.close(ours)
        if process.returncode is None:
            process.kill()
        await process.wait()


def _take_terminal(terminal: int) -> None:
    """As a login does: without it Ctrl-C is a byte and no signal."""
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


async def shown_until(terminal: int, text: bytes) -> bytes:
    """What the terminal shows up to `text`."""
    shown = b""
    while text not in shown:
        shown += await asyncio.to_thread(os.read, terminal, 4096)
    return shown


def files_in(directory: Path) -> list[Path]:
    return list(directory.iterdir())


def assert_nothing_is_left(told: Telling, directory: Path) -> None:
    assert told.data_directory().parent == directory
    assert files_in(directory) == []
    with pytest.raises(ProcessLookupError):
        os.kill(told.service_pid(), 0)
    assert "No process and no file is left." in told.said


def assert_no_secret_is_told(text: str) -> None:
    for secret in (CREDENTIAL, LEASE_TOKEN, OPERATOR_TOKEN):
        assert secret.search(text) is None


async def test_the_demo_tells_the_whole_story_without_a_secret_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    # A setting of the onlooker's own service must not lead the demo to it.
    async with telling(tmp_path, SWITCHBOARD_DATABASE_URL="nowhere://") as told:
        code = await told.end()
    assert code == 0, told.said
    lines = told.said.splitlines()
    assert [line for line in lines if re.match(r"\d+/", line)] == STEPS
    assert len(re.findall(r"^    ok, \d+\.\d s$", told.said, re.M)) == len(STEPS)
    for outcome in (
        "rang: Todo in inbox: Water the plants. To take it, call claim with id td_",
        "attempt 1 by doomed-",
        "attempt 2 by scout-",
        "the agent's next request got 401",
        "its stream was cut",
        "todo list: 4 done, 1 pending",
    ):
        assert outcome in told.said
    assert re.search(r"its credential begins with sbk_.{4};", told.said)
    assert "\x1b" not in told.said, "plain lines where there is no terminal"
    assert_no_secret_is_told(told.said)
    assert_nothing_is_left(told, tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_an_interrupted_demo_names_the_step_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with telling(tmp_path) as told:
        await told.until("waiting for the lease")
        told.process.send_signal(number)
        assert await told.end() == 1
    assert f"FAILED at {STEPS[6]}: interrupted" in told.said
    assert_no_secret_is_told(told.said)
    assert_nothing_is_left(told, tmp_path)


async def test_on_a_terminal_there_is_a_bar_and_ctrl_c_ends_it_without_colour_if_so_asked(
    tmp_path: Path,
) -> None:
    async with on_a_terminal(tmp_path, NO_COLOR="1", TERM="xterm") as (terminal, process):
        shown = await shown_until(terminal, b"is open; it may call")
        os.write(terminal, CTRL_C)
        shown += await shown_until(terminal, b"No process and no file is left.")
        assert await process.wait() == 1
    assert re.search(rb"FAILED at \d+/10 [^\r\n]+: interrupted", shown)
    assert b"\x1b[2K" in shown, "the bar is drawn in place"
    assert COLOUR.search(shown) is None
    assert b"Traceback" not in shown
    assert files_in(tmp_path) == []


async def test_a_demo_whose_service_dies_fails_at_once_at_the_step_it_had_come_to(
    tmp_path: Path,
) -> None:
    async with telling(tmp_path) as told:
        await told.until("waiting for the lease")
        os.kill(told.service_pid(), signal.SIGKILL)
        assert await told.end() == 1
    assert f"FAILED at {STEPS[6]}: the service ended by itself, with -9" in told.said
    assert "the service logged: " in told.said
    assert_no_secret_is_told(told.said)
    assert_nothing_is_left(told, tmp_path)


def test_a_reason_is_one_line_and_shows_no_secret() -> None:
    secrets = f"sbk_{'a' * 43} lt_{'b' * 20}\nsbo_{'c' * 43}"
    told = reason(ExceptionGroup("outer", [ValueError(f"got {secrets}")]))
    assert told == "ValueError: got ******** ******** ********"
    assert reason(DidNotHappen("the bell rang")) == "the bell rang"
    assert reason(TimeoutError()) == "it took too long"
