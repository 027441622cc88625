"""A reader's terminal: runs what a page tells to type, and presses Ctrl-C when it is told to."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.docs.code_blocks import ROOT
from tests.service_process import BOUND_S, ServiceProcess, serving

ENVIRONMENT_DIRECTORY = Path(sys.executable).parent.parent

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@asynccontextmanager
async def checkout_with_service(
    directory: Path, environment: Path = ENVIRONMENT_DIRECTORY
) -> AsyncGenerator[ServiceProcess]:
    """`directory` as a checkout looks after `make up`, whose service runs on a free port.

    The pages say `.data`, `.venv` and `examples`; each leads to the real thing. `environment` is
    where everything is run from.
    """
    async with serving(directory, program=environment / "bin" / "switchboard") as service:
        (directory / ".data").symlink_to(service.data_dir)
        (directory / ".venv").symlink_to(environment)
        (directory / "examples").symlink_to(ROOT / "examples")
        yield service


class Terminal:
    """One shell that runs a text from its first line to its last, and stops at an error."""

    def __init__(self, process: asyncio.subprocess.Process, output: asyncio.StreamReader) -> None:
        self._process = process
        self._output = output
        self.lines: list[str] = []
        """What was shown so far, standard error among it."""

    async def read_until(self, beginning: str) -> str:
        """The first line from here on that begins so."""
        async with asyncio.timeout(BOUND_S):
            while line := await self._next_line():
                if line.startswith(beginning):
                    return line
        raise AssertionError(f"no line began with {beginning!r}:\n{self.shown}")

    async def press_ctrl_c(self) -> None:
        """Interrupt what runs in the foreground, and the shell with it, as a terminal does."""
        os.killpg(self._process.pid, signal.SIGINT)

    async def finish(self) -> str:
        """Everything shown, once the text has run to its end without an error."""
        async with asyncio.timeout(BOUND_S):
            while await self._next_line():
                pass
            code = await self._process.wait()
        assert code == 0, f"exit {code}:\n{self.shown}"
        return self.shown

    @property
    def shown(self) -> str:
        return "".join(self.lines)

    async def _next_line(self) -> str:
        try:
            line = (await self._output.readline()).decode()
        except OSError:  # so ends what comes from a pseudo-terminal
            line = ""
        self.lines.append(_COLOUR.sub("", line).replace("\r\n", "\n"))
        return self.lines[-1]


@asynccontextmanager
async def typed(text: str, directory: Path, **variables: str) -> AsyncGenerator[Terminal]:
    """A shell in `directory` that runs `text`; all that it started is ended with the block."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("SWITCHBOARD_")}
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        try:
            process = await asyncio.create_subprocess_exec(
                *("bash", "-euo", "pipefail", "-c", text),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=theirs,
                stderr=theirs,
                cwd=directory,
                env=own | variables,
                start_new_session=True,
            )
        finally:
            os.close(theirs)
        output = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(output), screen
        )
        try:
            yield Terminal(process, output)
        finally:
            # The shell may have ended without our having waited for it, its children not.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            transport.close()
            await process.wait()


def as_pattern(text: str) -> str:
    """The lines of a page's example; `…` stands for what differs from run to run."""
    return r"\n".join(re.escape(line).replace("…", ".*") for line in text.strip().splitlines())
