"""The stdio transport in a process of its own: noise, ends, and the clients that people use."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TextIO

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.agent_transport.mcp.agent_server import INITIALIZE
from tests.agent_transport.mcp.stdio_agent import NOISE
from tests.agent_transport.mcp.wire_client import BOUND_S
from tests.interop import node
from tests.specification import requirement

ROOT = Path(__file__).resolve().parents[3]
AGENT = ("-m", "tests.agent_transport.mcp.stdio_agent")
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
GONE_WITHIN_S = 5.0


class AgentProcess:
    """The program of `stdio_agent`, spoken to in raw lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")

    def ask(self, method: str, params: Any = None, *, request_id: int) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}
        self.send(json.dumps(message | {"params": params or {}}).encode())

    async def next(self) -> dict[str, Any]:
        """The next frame; anything else on the wire fails the test."""
        assert self.process.stdout is not None
        async with asyncio.timeout(BOUND_S):
            return json.loads(await self.process.stdout.readline())

    async def open_session(self) -> dict[str, Any]:
        self.ask("initialize", INITIALIZE, request_id=1)
        opened = await self.next()
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return opened["result"]

    async def call(self, name: str, request_id: int = 2, **arguments: Any) -> Any:
        """The envelope of a tool call."""
        params = {"name": name, "arguments": arguments}
        self.ask("tools/call", params, request_id=request_id)
        answered = await self.next()
        assert answered["id"] == request_id
        return json.loads(answered["result"]["content"][0]["text"])

    async def leave(self) -> str:
        """Close the input, wait for its end; what it wrote on standard error."""
        async with asyncio.timeout(BOUND_S):
            out, err = await self.process.communicate(b"")
        assert (out, self.process.returncode) == (b"", 0), err
        return err.decode()


@asynccontextmanager
async def agent_process() -> AsyncGenerator[AgentProcess]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, *AGENT, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe
    )
    try:
        yield AgentProcess(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_whatever_prints_or_logs_reaches_standard_error_and_breaks_no_frame() -> None:
    async with agent_process() as agent:
        await agent.open_session()
        for request_id in (2, 3):
            assert await agent.call("noise", request_id) == {"success": True, "result": {}}
        noise = await agent.leave()
    for way in ("print", "write", "descriptor", "log", "child"):
        assert noise.count(f"{NOISE} {way}") == 3, way


async def test_a_tool_that_reads_its_input_eats_no_frame() -> None:
    async with agent_process() as agent:
        await agent.open_session()
        assert await agent.call("eat") == {"success": True, "result": ["", ""]}
        assert await agent.call("echo", 3, text="x") == {"success": True, "result": {"text": "x"}}
        await agent.leave()


@requirement("agent-transport/stdio/no-admission")
async def test_no_credential_is_asked_for() -> None:
    async with agent_process() as agent:
        opened = await agent.open_session()
        assert opened["capabilities"] == {"tools": {}}
        assert (await agent.call("echo", text="x"))["success"]
        await agent.leave()


async def test_an_initialize_that_is_sent_before_the_program_is_up_is_answered() -> None:
    async with agent_process() as agent:
        agent.ask("initialize", INITIALIZE, request_id=1)
        agent.ask("tools/list", request_id=2)
        answered = [await agent.next(), await agent.next()]
        assert [answer["id"] for answer in answered] == [1, 2]
        assert len(answered[1]["result"]["tools"]) == 5
        await agent.leave()


async def test_the_end_of_input_ends_the_program() -> None:
    async with agent_process() as agent:
        await agent.open_session()
        assert "Traceback" not in await agent.leave()


PARENT = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, *sys.argv[1:]], stdin=0, stdout=1, stderr=2)
os.write(2, b"child %d\\n" % child.pid)
child.wait()
"""
"""A client's launcher, which hands its own pipes on: they stay open when it is killed."""


@pytest.mark.parametrize("is_hanging", [False, True])
async def test_a_child_whose_parent_is_killed_is_gone_within_five_seconds(
    is_hanging: bool,
) -> None:
    """This process keeps both pipes open, so that no end of input tells the child."""
    pipe = asyncio.subprocess.PIPE
    launcher = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, *AGENT, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe
    )
    assert launcher.stderr is not None
    child = int((await launcher.stderr.readline()).split()[1])
    pidfd = os.pidfd_open(child)
    try:
        agent = AgentProcess(launcher)
        await agent.open_session()
        if is_hanging:
            agent.ask("tools/call", {"name": "hang", "arguments": {}}, request_id=2)
        assert (await agent_answers(agent))["id"] == 3
        launcher.kill()
        async with asyncio.timeout(GONE_WITHIN_S):
            await readable(pidfd)
    finally:
        os.close(pidfd)
        if launcher.returncode is None:
            launcher.kill()
        await launcher.communicate()


async def agent_answers(agent: AgentProcess) -> dict[str, Any]:
    """A ping's answer: what was asked before it has been begun."""
    agent.ask("ping", request_id=3)
    return await agent.next()


async def readable(fd: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)


TAKE = """
import asyncio
from agent_transport.errors import CarrierFailed
from agent_transport.mcp import take_standard_streams

async def main():
    try:
        take_standard_streams()
    except CarrierFailed as error:
        raise SystemExit(f"refused: {error}")

asyncio.run(main())
"""


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
async def test_a_stream_that_was_closed_is_refused_and_nothing_else_is_taken_for_it(
    closed: str,
) -> None:
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, TAKE),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(BOUND_S):
        _, err = await process.communicate()
    assert (process.returncode, err.decode().strip()) == (
        1,
        "refused: standard input or standard output is closed",
    )


# --- clients


@pytest.fixture
def nowhere() -> Iterator[TextIO]:
    with open(os.devnull, "w") as file:
        yield file


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_the_official_client_lists_calls_and_submits(mode: Any, nowhere: TextIO) -> None:
    parameters = StdioServerParameters(command=sys.executable, args=[*AGENT], cwd=ROOT)
    async with Client(stdio_client(parameters, errlog=nowhere), mode=mode) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        called = await client.call_tool("noise", {"text": "hi"})
        submitted = await client.call_tool("agent_submit", {"prompt": "hi"})
    assert names == ["echo", "noise", "eat", "hang", "agent_submit"]
    texts = [
        block.text
        for block in (*called.content, *submitted.content)
        if isinstance(block, types.TextContent)
    ]
    assert texts == ['{"success":true,"result":{"text":"hi"}}', "heard: hi"]


@pytest.mark.parametrize("era", ["legacy", "auto", "modern"])
async def test_the_inspector_lists_and_calls(era: str, tmp_path: Path) -> None:
    run = f"cd {ROOT} && exec {sys.executable} {' '.join(AGENT)}"
    common = ("--cli", "--transport", "stdio", "--protocol-era", era)

    async def inspect(*arguments: str) -> dict[str, Any]:
        ended = await node.run(
            node.module(INSPECTOR), *common, *arguments, "--", "sh", "-c", run, cwd=tmp_path
        )
        assert ended.code == 0, ended.out + ended.err
        return json.loads(ended.out)

    listed = await inspect("--method", "tools/list")
    assert len(listed["tools"]) == 5
    given = json.dumps({"prompt": "hi"})
    method = ("--method", "tools/call", "--tool-name", "agent_submit", "--tool-args-json", given)
    assert (await inspect(*method))["content"] == [{"type": "text", "text": "heard: hi"}]


async def test_an_interrupt_ends_the_program() -> None:
    async with agent_process() as agent:
        await agent.open_session()
        agent.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(BOUND_S):
            await agent.process.wait()
