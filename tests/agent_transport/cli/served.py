"""`agent-transport serve` as a process of its own, and the agents that it serves."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = str(Path(sys.executable).with_name("agent-transport"))
BOUND_S = 30.0
"""A machine with busy cores starts slowly; a test that waits longer has failed."""

AGENT = """
import asyncio, os, pathlib, subprocess, sys
from agent_transport.errors import ToolFailed
from agent_transport.local_session import LocalSession
from agent_transport.local_tool import LocalTool
from agent_transport.permission import Permissions

print("printed at import")

async def answer(prompt):
    print("printed in a turn", flush=True)
    subprocess.run(["echo", "printed by a program"])
    if prompt == "wait":
        pathlib.Path("waiting").write_text("now")
        try:
            await asyncio.Event().wait()
        finally:
            pathlib.Path("ended").touch()
    if prompt == "break":
        raise ValueError("inner detail")
    return f"heard: {prompt}"

async def read(arguments):
    if "name" not in arguments:
        raise ToolFailed("name is missing")
    return {"read": arguments["name"]}

async def write(arguments):
    pathlib.Path("written").touch()

def session():
    tools = [LocalTool("read", "Reads", read), LocalTool("write", "Writes", write)]
    return LocalSession(answer, tools=tools, permissions=Permissions({"read": "allow"}))

async def never():
    pathlib.Path("waiting").write_text("now")
    await asyncio.Event().wait()

def clashing():
    return LocalSession(answer, tools=[LocalTool("agent_submit", "Clashes", read)])
"""


def write_agent(directory: Path) -> None:
    """The module `agent` in `directory`, and the pipe by which it tells that a turn waits."""
    os.mkfifo(directory / "waiting")
    (directory / "agent.py").write_text(AGENT)


@dataclass
class Served:
    """A running `serve` over HTTP, once it has said that it is ready."""

    process: asyncio.subprocess.Process
    ready: dict[str, str]
    errors: Path

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end; its exit code."""
        self.process.send_signal(number)
        return await ended(self.process)

    async def rest_of_output(self) -> bytes:
        """What else it has written to standard output, to the end."""
        assert self.process.stdout is not None
        async with asyncio.timeout(BOUND_S):
            return await self.process.stdout.read()


@asynccontextmanager
async def serving(
    directory: Path, *words: str, env: Mapping[str, str] | None = None
) -> AsyncGenerator[Served]:
    """`agent-transport serve` with these words in `directory`; killed at the end if it runs."""
    errors = directory / "stderr"
    process = await start(directory, *words, env=env)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(BOUND_S):
            line = await process.stdout.readline()
        assert line, errors.read_text()
        yield Served(process, json.loads(line), errors)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def start(
    directory: Path, *words: str, env: Mapping[str, str] | None = None
) -> asyncio.subprocess.Process:
    """The process, as soon as it has been started. Its standard error is the file `stderr`."""
    with (directory / "stderr").open("wb") as errors:
        return await asyncio.create_subprocess_exec(
            PROGRAM,
            "serve",
            *words,
            cwd=directory,
            env={**os.environ, **(env or {})},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )


async def ended(process: asyncio.subprocess.Process) -> int:
    async with asyncio.timeout(BOUND_S):
        return await process.wait()


async def until_waiting(directory: Path) -> None:
    """Return once the served agent has begun a turn that waits: it writes to a pipe then."""
    loop = asyncio.get_running_loop()
    pipe = os.open(directory / "waiting", os.O_RDONLY | os.O_NONBLOCK)
    written: asyncio.Future[None] = loop.create_future()
    loop.add_reader(pipe, lambda: written.done() or written.set_result(None))
    try:
        async with asyncio.timeout(BOUND_S):
            await written
    finally:
        loop.remove_reader(pipe)
        os.close(pipe)


def texts(result: Any) -> list[str]:
    """The text of each block of a tool result."""
    return [block.text for block in result.content]
