"""What the carrier makes of a session store that fails, and of sessions that nobody holds."""

from __future__ import annotations

import asyncio

import pytest

from agent_transport.mcp import EndReason
from tests.agent_transport.mcp.fixture_server import serving
from tests.agent_transport.mcp.test_isolation import connected, opened
from tests.agent_transport.mcp.wire_client import (
    BOUND_S,
    Client,
    exchange,
    request_bytes,
    until_eof,
)

HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "1"},
}


async def test_an_unreadable_session_is_503_for_each_method_and_survives() -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        fixture.sessions.broken = True
        for method in ("GET", "DELETE"):
            refused = await exchange(fixture.port, request_bytes(method, b"", client.headers()))
            assert (refused.status, refused.body) == (503, b"")
        refused = await client.call("echo")
        assert refused.status == 503
        assert int(refused.headers["retry-after"]) >= 2
        fixture.sessions.broken = False
        assert (await client.call("echo")).status == 200


async def test_a_session_that_could_not_be_written_is_503_and_not_told_to_its_client(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving() as fixture:
        client = Client(fixture.port)
        fixture.sessions.broken = True
        refused = await client.initialize()
        assert (refused.status, refused.body, client.session) == (503, b"", None)
        assert "retry-after" in refused.headers
        assert "session_unreadable" in caplog.messages
        fixture.sessions.broken = False
        assert (await client.initialize()).status == 200


async def test_a_session_whose_client_left_before_it_heard_of_it_is_closed_again() -> None:
    async with serving() as fixture:
        fixture.sessions.may_open.clear()
        _, writer = await asyncio.open_connection("127.0.0.1", fixture.port)
        writer.write(Client(fixture.port).raw("initialize", HANDSHAKE))
        await asyncio.wait_for(fixture.sessions.opening.wait(), BOUND_S)
        writer.transport.abort()
        async with asyncio.timeout(BOUND_S):
            await fixture.listener._open.all_closed.wait()  # pyright: ignore[reportPrivateUsage]
        fixture.sessions.may_open.set()
        await asyncio.wait_for(fixture.sessions.closed.wait(), BOUND_S)
        assert fixture.sessions.rows == {}


async def test_an_ended_session_ends_its_stream_and_its_waiting_call() -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        async with opened(fixture, client) as (reader, stream):
            call = asyncio.create_task(client.call("wait"))
            await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
            ended = await exchange(fixture.port, request_bytes("DELETE", b"", client.headers()))
            assert ended.status == 204
            assert (await call).json["error"]["code"] == -32800
            await until_eof(reader)
            assert stream.ended is EndReason.CLOSED
        assert (await client.call("echo")).status == 404


async def test_a_hundred_streams_of_one_session_at_once_leave_one() -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        wires = await asyncio.gather(*(client.open_stream() for _ in range(100)))
        async with asyncio.timeout(BOUND_S):
            streams = [await fixture.opened.get() for _ in wires]
            replaced = [await fixture.closed.get() for _ in wires[1:]]
        assert {stream.ended for stream in replaced} == {EndReason.REPLACED}
        (last,) = [stream for stream in streams if stream.ended is None]
        assert last.offer(b": hello\n\n")
        for _, writer in wires:
            writer.transport.abort()
        assert await asyncio.wait_for(fixture.closed.get(), BOUND_S) is last
