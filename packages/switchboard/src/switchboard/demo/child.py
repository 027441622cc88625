"""Processes that the demo starts, and that end with it."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO

STOP_BOUND_S = 10.0
"""No request is under way at the end of the story, so the service has nothing to wait for."""


def switchboard(*arguments: str) -> tuple[str, ...]:
    """The command line, run by this interpreter: no `switchboard` needs to be on the path."""
    return (sys.executable, "-c", "from switchboard.cli import main; main()", *arguments)


@asynccontextmanager
async def child(
    *command: str, directory: Path, log: IO[bytes] | int = DEVNULL
) -> AsyncGenerator[Process]:
    """A process with pipes for input and output. What still runs at the end is killed.

    It is in a session of its own, so that Ctrl-C reaches the demo alone, which then ends it.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=log,
        env=_environment(),
        cwd=directory,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def stop(process: Process) -> None:
    """SIGTERM, and wait for the end within the bound. What hangs is left to `child`."""
    process.terminate()
    with suppress(TimeoutError):
        async with asyncio.timeout(STOP_BOUND_S):
            await process.wait()


def _environment() -> dict[str, str]:
    """Settings of the onlooker's own service must not reach the demo's."""
    return {name: text for name, text in os.environ.items() if not name.startswith("SWITCHBOARD_")}
