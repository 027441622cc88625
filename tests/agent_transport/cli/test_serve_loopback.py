"""Serving on this machine: the address on standard output, the bearer in a file, nowhere else."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import stat
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.agent_transport.cli.served import (
    BOUND_S,
    PROGRAM,
    ended,
    serving,
    start,
    texts,
    until_waiting,
    write_agent,
)
from tests.specification import requirement

LOCAL = ("agent:session", "--http-token-file", "token")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_official_client_comes_in_with_the_bearer_of_the_file(
    mode: Any, tmp_path: Path
) -> None:
    write_agent(tmp_path)
    async with serving(tmp_path, *LOCAL) as served:
        assert served.ready == {
            "url": served.ready["url"],
            "token_file": str(tmp_path / "token"),
        }
        token = (tmp_path / "token").read_text().strip()
        http = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
        async with (
            http,
            Client(streamable_http_client(served.ready["url"], http_client=http), mode=mode) as it,
        ):
            assert texts(await it.call_tool("agent_submit", {"prompt": "hi"})) == ["heard: hi"]
            assert texts(await it.call_tool("read", {"name": "x"})) == [
                '{"success":true,"result":{"read":"x"}}'
            ]
        assert await served.stop() == 0
        assert not (tmp_path / "token").exists()


@requirement("agent-transport/loopback/bearer-to-owner-only")
async def test_the_bearer_stands_in_its_file_alone(tmp_path: Path) -> None:
    write_agent(tmp_path)
    async with serving(tmp_path, *LOCAL) as served:
        file = tmp_path / "token"
        token = file.read_text().strip()
        assert (len(token), stat.S_IMODE(file.stat().st_mode)) == (64, 0o600)
        bearer = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=bearer, trust_env=False) as client:
            assert (await client.get(served.ready["url"])).status_code == 405
        process = Path("/proc", str(served.process.pid))
        told = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        assert await served.stop() == 0
        shown = json.dumps(served.ready).encode() + await served.rest_of_output()
        shown += served.errors.read_bytes()
    assert token.encode() not in told + shown
    assert b"serving at http://127.0.0.1:" in shown


async def test_standard_output_has_one_line_whatever_the_agent_prints(tmp_path: Path) -> None:
    write_agent(tmp_path)
    async with serving(tmp_path, *LOCAL) as served:
        assert await served.rest_of_output() == b""
        assert "printed at import" in served.errors.read_text()


async def test_two_starts_have_two_bearers(tmp_path: Path) -> None:
    write_agent(tmp_path)
    tokens = set[str]()
    for _ in range(2):
        async with serving(tmp_path, *LOCAL) as served:
            tokens.add((tmp_path / "token").read_text())
            await served.stop()
    assert len(tokens) == 2


async def test_a_port_that_is_asked_for_is_taken_and_one_in_use_is_told(tmp_path: Path) -> None:
    write_agent(tmp_path)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        process = await start(tmp_path, *LOCAL, "--port", str(port))
        output, _ = await process.communicate()
        assert (await ended(process), output) == (1, b"")
        assert f"cannot listen on 127.0.0.1:{port}" in (tmp_path / "stderr").read_text()
        assert not (tmp_path / "token").exists()
    async with serving(tmp_path, *LOCAL, "--port", str(port)) as served:
        assert served.ready["url"] == f"http://127.0.0.1:{port}/mcp"


async def test_a_catalog_that_cannot_be_served_is_told_and_no_file_is_left(tmp_path: Path) -> None:
    write_agent(tmp_path)
    process = await start(tmp_path, "agent:clashing", *LOCAL[1:])
    output, _ = await process.communicate()
    assert (await ended(process), output) == (1, b"")
    told = (tmp_path / "stderr").read_text()
    assert "'agent_submit' has the name of the submission tool" in told
    assert "Traceback" not in told
    assert not (tmp_path / "token").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_during_a_turn_ends_it_all(number: signal.Signals, tmp_path: Path) -> None:
    write_agent(tmp_path)
    async with serving(tmp_path, *LOCAL) as served:
        token = (tmp_path / "token").read_text().strip()
        call = {"name": "agent_submit", "arguments": {"prompt": "wait"}}
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25",
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=30) as client:
            calling = asyncio.ensure_future(client.post(served.ready["url"], json=body))
            await until_waiting(tmp_path)
            assert await served.stop(number) == 0
            answer = await calling
        assert answer.json()["result"]["isError"] is True
    assert (tmp_path / "ended").exists()
    assert not (tmp_path / "token").exists()


async def test_a_signal_while_the_agent_is_being_made_ends_it_and_nothing_was_served(
    tmp_path: Path,
) -> None:
    write_agent(tmp_path)
    process = await start(tmp_path, "agent:never", *LOCAL[1:])
    await until_waiting(tmp_path)
    process.send_signal(signal.SIGTERM)
    output, _ = await process.communicate()
    assert (await ended(process), output) == (0, b"")
    assert not (tmp_path / "token").exists()


async def test_it_serves_without_a_standard_output_to_tell_of_it(tmp_path: Path) -> None:
    write_agent(tmp_path)
    command = f"exec {PROGRAM} serve agent:session --http-token-file token >&-"
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", command), cwd=tmp_path, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        told = b""
        async with asyncio.timeout(BOUND_S):
            while b"serving at " not in told:
                line = await process.stderr.readline()
                assert line, told
                told += line
        url = told.decode().partition("serving at ")[2].partition(";")[0]
        async with httpx2.AsyncClient(trust_env=False) as client:
            assert (await client.get(url)).status_code == 401
        process.send_signal(signal.SIGTERM)
        assert await ended(process) == 0
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
