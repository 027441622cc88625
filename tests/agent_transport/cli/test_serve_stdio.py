"""Serving over standard input and output: the official client starts the real program."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from tests.agent_transport.cli.served import BOUND_S, PROGRAM, texts, until_waiting, write_agent
from tests.specification import requirement


@asynccontextmanager
async def client_of(
    directory: Path, *words: str, mode: Any = "auto"
) -> AsyncGenerator[tuple[Client, Path]]:
    write_agent(directory)
    errors = directory / "stderr"
    parameters = StdioServerParameters(
        command=PROGRAM, args=["serve", *words], cwd=directory, env=dict(os.environ)
    )
    with errors.open("w") as log:
        async with Client(stdio_client(parameters, errlog=log), mode=mode) as client:
            yield client, errors


@requirement("agent-transport/stdio/no-admission")
@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_the_official_client_starts_it_lists_calls_and_submits_without_a_credential(
    mode: Any, tmp_path: Path
) -> None:
    async with client_of(tmp_path, "agent:session", mode=mode) as (client, _):
        assert [t.name for t in (await client.list_tools()).tools] == [
            "read",
            "write",
            "agent_submit",
        ]
        assert texts(await client.call_tool("read", {"name": "x"})) == [
            '{"success":true,"result":{"read":"x"}}'
        ]
        assert texts(await client.call_tool("agent_submit", {"prompt": "hi"})) == ["heard: hi"]


async def test_what_the_agent_prints_breaks_no_frame_and_is_seen_on_standard_error(
    tmp_path: Path,
) -> None:
    async with client_of(tmp_path, "agent:answer") as (client, errors):
        assert texts(await client.call_tool("agent_submit", {"prompt": "hi"})) == ["heard: hi"]
    shown = errors.read_text()
    for printed in ("printed at import", "printed in a turn", "printed by a program"):
        assert printed in shown


async def test_the_submission_tool_has_the_name_that_was_asked_for(tmp_path: Path) -> None:
    async with client_of(tmp_path, "agent:answer", "--submit-name", "ask-scout") as (client, _):
        assert [tool.name for tool in (await client.list_tools()).tools] == ["ask-scout"]
        assert texts(await client.call_tool("ask-scout", {"prompt": "hi"})) == ["heard: hi"]


@requirement("agent-transport/admission/permission-without-prompt")
async def test_what_nobody_allowed_is_denied_and_nobody_is_asked(tmp_path: Path) -> None:
    async with client_of(tmp_path, "agent:session") as (client, _):
        result = await client.call_tool("write", {})
    assert result.is_error
    assert "a person would have to approve" in texts(result)[0]
    assert not (tmp_path / "written").exists()


async def test_a_turn_that_breaks_is_an_error_without_detail_and_the_next_is_answered(
    tmp_path: Path,
) -> None:
    async with client_of(tmp_path, "agent:session") as (client, errors):
        with pytest.raises(MCPError) as broken:
            await client.call_tool("agent_submit", {"prompt": "break"})
        assert "inner" not in str(broken.value)
        failed = await client.call_tool("read", {})
        assert (failed.is_error, texts(failed)) == (
            True,
            ['{"success":false,"error":"name is missing"}'],
        )
        assert texts(await client.call_tool("agent_submit", {"prompt": "hi"})) == ["heard: hi"]
    assert "inner detail" in errors.read_text()


async def test_a_client_that_leaves_during_a_turn_ends_the_turn_and_the_program(
    tmp_path: Path,
) -> None:
    async with client_of(tmp_path, "agent:session") as (client, _):
        calling = asyncio.ensure_future(client.call_tool("agent_submit", {"prompt": "wait"}))
        await until_waiting(tmp_path)
        calling.cancel()
        await asyncio.wait([calling])
    assert (tmp_path / "ended").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_in_good_order(number: signal.Signals, tmp_path: Path) -> None:
    write_agent(tmp_path)
    process = await asyncio.create_subprocess_exec(
        *(PROGRAM, "serve", "agent:session"),
        cwd=tmp_path,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":'
            b'"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
        )
        async with asyncio.timeout(BOUND_S):
            assert b'"id":1' in await process.stdout.readline()
            process.send_signal(number)
            assert await process.wait() == 0
            assert await process.stdout.read() == b""
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


_PARENT = """
import subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(child.pid, flush=True)
child.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n')
child.stdin.flush()
child.stdout.readline()
print("ready", flush=True)
time.sleep(600)
"""


async def test_when_its_client_is_killed_it_is_gone_within_5_seconds(tmp_path: Path) -> None:
    write_agent(tmp_path)
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _PARENT, PROGRAM, "serve", "agent:session"),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert parent.stdout is not None
    try:
        async with asyncio.timeout(BOUND_S):
            child = os.pidfd_open(int(await parent.stdout.readline()))
            assert await parent.stdout.readline() == b"ready\n"
        gone = asyncio.Event()
        asyncio.get_running_loop().add_reader(child, gone.set)
        parent.kill()
        async with asyncio.timeout(5):
            await gone.wait()
        asyncio.get_running_loop().remove_reader(child)
        os.close(child)
    finally:
        if parent.returncode is None:
            parent.kill()
        await parent.communicate()
