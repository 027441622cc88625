"""The loopback host from start to stop: what is served, what ends it, what is left of it."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from agent_transport.errors import (
    AlreadyStarted,
    CarrierFailed,
    CatalogInvalid,
    ListenFailed,
    StartTimedOut,
    StoppedWhileStarting,
)
from agent_transport.mcp.loopback import McpLoopbackHost
from agent_transport.session import CancelSignal, JsonObject, ToolEnvelope
from agent_transport.testing import FakeClock, FakeSession
from agent_transport.testing.fake_session import ECHO
from tests.agent_transport.mcp.hosts import loopback, message, raw, tool_call
from tests.agent_transport.mcp.wire_client import BOUND_S, exchange
from tests.specification import requirement

ERAS = ["legacy", "auto", "2026-07-28"]


@requirement("agent-transport/admission/canonical-catalog-only")
@pytest.mark.parametrize("mode", ERAS)
async def test_the_official_client_lists_calls_and_submits(mode: Any) -> None:
    async with loopback(FakeSession()) as it:
        bearer = {"Authorization": f"Bearer {it.listening.token}"}
        http = create_mcp_http_client(headers=bearer)
        transport = streamable_http_client(it.listening.url, http_client=http)
        async with Client(transport, mode=mode) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == ["echo", "agent_submit"]
            called = await client.call_tool("echo", {"text": "hi"})
            submitted = await client.call_tool("agent_submit", {"prompt": "hi"})
        texts = [
            block.text
            for block in (*called.content, *submitted.content)
            if isinstance(block, types.TextContent)
        ]
        assert texts == ['{"success":true,"result":{"text":"hi"}}', "heard: hi"]
        await http.aclose()


@requirement("agent-transport/call/cancel-spares-others")
@pytest.mark.parametrize("mode", ERAS)
async def test_the_official_client_ends_its_own_turn_by_leaving(mode: Any) -> None:
    session = FakeSession(manual_turns=True)
    async with loopback(session) as it:
        staying = asyncio.ensure_future(it.call("agent_submit", prompt="stays"))
        stays = await session.submitted.get()
        bearer = {"Authorization": f"Bearer {it.listening.token}"}
        async with create_mcp_http_client(headers=bearer) as http:
            transport = streamable_http_client(it.listening.url, http_client=http)
            async with Client(transport, mode=mode) as client:
                calling = asyncio.ensure_future(client.call_tool("agent_submit", {"prompt": "x"}))
                async with asyncio.timeout(BOUND_S):
                    gone = await session.submitted.get()
                calling.cancel()
                await asyncio.wait([calling])
        async with asyncio.timeout(BOUND_S):
            await gone.cancel.wait()
        assert not stays.cancel.is_set()
        stays.answer("done")
        assert (await staying)["content"][0]["text"] == "done"


@requirement("agent-transport/http/stateless")
async def test_no_session_id_is_given_and_none_is_asked_for() -> None:
    async with loopback(FakeSession()) as it:
        opened = await it.post(
            message(
                "initialize",
                {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {},
                    "clientInfo": {"name": "t", "version": "1"},
                },
            )
        )
        assert opened.json["result"]["capabilities"] == {"tools": {}}
        assert "mcp-session-id" not in opened.headers
        made_up = raw([*it.lines(), ("Mcp-Session-Id", "made-up")])
        assert (await exchange(it.port, made_up)).status == 200


@requirement("agent-transport/http/one-session")
async def test_all_requests_reach_the_one_session() -> None:
    session = FakeSession()
    async with loopback(session) as it:
        await asyncio.gather(*(it.call("echo", text=str(n)) for n in range(8)))
    assert sorted(arguments["text"] for _, arguments in session.invoked) == [*"01234567"]


@requirement("agent-transport/call/cancel-spares-others")
async def test_a_client_that_leaves_ends_its_own_turn_and_no_other() -> None:
    session = FakeSession(manual_turns=True)
    async with loopback(session) as it:
        _, leaving = await asyncio.open_connection("127.0.0.1", it.port)
        leaving.write(raw(it.lines(), tool_call("agent_submit", prompt="a")))
        gone = await session.submitted.get()
        staying = asyncio.ensure_future(it.call("agent_submit", prompt="b"))
        stays = await session.submitted.get()
        leaving.close()
        async with asyncio.timeout(BOUND_S):
            await gone.cancel.wait()
        assert not stays.cancel.is_set()
        stays.answer("done")
        assert (await staying)["content"][0]["text"] == "done"


@requirement("agent-transport/call/cancel-spares-others")
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_a_cancellation_by_request_id_ends_nobody_elses_call(version: str) -> None:
    """Ids are a client's own: without sessions nobody can tell whose id 1 is meant."""
    session = FakeSession(manual_turns=True)
    cancelled = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    async with loopback(session) as it:
        calling = asyncio.ensure_future(it.call("agent_submit", prompt="a"))
        turn = await session.submitted.get()
        lines = [
            *it.lines(),
            ("MCP-Protocol-Version", version),
            ("Mcp-Method", "notifications/cancelled"),
        ]
        assert (await exchange(it.port, raw(lines, cancelled))).status == 202
        assert not turn.cancel.is_set()
        turn.answer("done")
        assert (await calling)["content"][0]["text"] == "done"


# --- stop


async def test_a_stop_ends_calls_in_flight_and_the_listener() -> None:
    session = FakeSession(manual_turns=True)
    async with loopback(session) as it:
        calling = asyncio.ensure_future(it.call("agent_submit", prompt="a"))
        await session.submitted.get()
        await asyncio.gather(*(it.host.stop() for _ in range(3)))
        ended = await calling
        assert (ended["isError"], ended["content"][0]["text"]) == (True, "the turn was cancelled")
        with pytest.raises(ConnectionRefusedError):
            await it.post()
        await it.host.stop()
        await it.host.wait_closed()


async def test_a_tool_that_will_not_end_does_not_hold_the_stop() -> None:
    session, running, released = FakeSession(), asyncio.Event(), asyncio.Event()

    async def invoke(name: str, arguments: JsonObject, cancel: CancelSignal) -> ToolEnvelope:
        running.set()
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        return ToolEnvelope(True)

    session.invoke = invoke
    async with loopback(session) as it:
        calling = asyncio.ensure_future(it.post(tool_call("echo", text="x")))
        await running.wait()
        async with asyncio.timeout(5.0):
            await it.host.stop()
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await calling
        released.set()


async def test_a_host_serves_once() -> None:
    host = McpLoopbackHost(FakeSession())
    listening = await host.start()
    with pytest.raises(AlreadyStarted):
        await host.start()
    await host.stop()
    with pytest.raises(AlreadyStarted):
        await host.start()
    unused = McpLoopbackHost(FakeSession())
    await unused.wait_closed()
    await unused.stop()
    with pytest.raises(AlreadyStarted):
        await unused.start()
    assert listening.url


# --- start


@requirement("agent-transport/http/checks-before-listening")
async def test_the_catalog_is_checked_before_the_port_is_asked_for() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        with pytest.raises(CatalogInvalid, match="echo"):
            await McpLoopbackHost(FakeSession([ECHO, ECHO]), port=port).start()


@requirement("agent-transport/errors/failures-visible")
async def test_a_port_that_is_taken_fails_the_start() -> None:
    session = FakeSession()
    async with loopback(FakeSession()) as holder:
        host = McpLoopbackHost(session, port=holder.port)
        with pytest.raises(ListenFailed, match=str(holder.port)):
            await host.start()
        await host.stop()
    assert session.catalog_reads == 1


@pytest.mark.concurrency
@pytest.mark.parametrize("end", ["stop", "bound", "cancel"])
async def test_a_start_that_waits_for_the_catalog_can_be_ended_and_leaves_nothing(end: str) -> None:
    clock, session = FakeClock(), FakeSession()
    session.catalog_gate.clear()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    host = McpLoopbackHost(session, port=port, sleep=clock.sleep)
    starting = asyncio.ensure_future(host.start())
    await session.catalog_asked.wait()
    expected: type[BaseException] = asyncio.CancelledError
    if end == "stop":
        expected = StoppedWhileStarting
        await host.stop()
    elif end == "bound":
        expected = StartTimedOut
        clock.advance(15.0)
    else:
        starting.cancel()
    with pytest.raises(expected):
        await starting
    session.catalog_gate.set()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    await host.stop()


async def test_a_start_without_randomness_fails_and_frees_its_port() -> None:
    def broken(count: int) -> bytes:
        raise OSError("no randomness")

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    host = McpLoopbackHost(FakeSession(), port=port, entropy=broken)
    with pytest.raises(CarrierFailed):
        await host.start()
    async with loopback(FakeSession(), port=port) as it:
        assert (await it.post()).status == 200
    with pytest.raises(AlreadyStarted):
        await host.start()
