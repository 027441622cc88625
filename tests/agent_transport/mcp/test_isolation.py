"""What one client does to another: nothing. And which of a message's own words count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent_transport.mcp import (
    CarrierLimits,
    EndReason,
    NotificationStream,
    notification_frame,
)
from tests.agent_transport.mcp.fixture_server import Fixture, serving
from tests.agent_transport.mcp.test_modern import VERSION, raw
from tests.agent_transport.mcp.wire_client import BOUND_S, Answer, Client, exchange, request_bytes

TOO_MUCH = notification_frame("notifications/x", {"text": "x" * 32 * 1024 * 1024})
"""More than the sockets of both sides hold together."""


async def connected(fixture: Fixture, version: str = "2025-11-25") -> Client:
    client = Client(fixture.port)
    await client.initialize(version)
    return client


@asynccontextmanager
async def opened(
    fixture: Fixture, client: Client
) -> AsyncGenerator[tuple[asyncio.StreamReader, NotificationStream[Any]]]:
    """The client's stream, as the client reads it and as the server feeds it."""
    reader, writer = await client.open_stream()
    try:
        yield reader, await asyncio.wait_for(fixture.opened.get(), BOUND_S)
    finally:
        writer.transport.abort()


def text(answer: Answer) -> str:
    return answer.json["result"]["content"][0]["text"]


async def test_two_clients_with_equal_ids_in_flight_each_get_their_own_answer() -> None:
    async with serving() as fixture:
        one, two = await connected(fixture), await connected(fixture)
        answers = await asyncio.gather(
            *(client.call("echo", 1, text=name) for client, name in ((one, "a"), (two, "b")) * 8)
        )
        assert [answer.json["id"] for answer in answers] == [1] * 16
        assert [text(answer) for answer in answers] == ["a", "b"] * 8


async def test_a_client_cancels_its_own_call_and_not_its_neighbours_with_the_same_id() -> None:
    async with serving() as fixture:
        one, two = await connected(fixture), await connected(fixture)
        mine = asyncio.create_task(one.call("undoable", 1))
        await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
        fixture.waiting.clear()
        theirs = asyncio.create_task(two.call("undoable", 1))
        await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
        await one.notify("notifications/cancelled", {"requestId": 1})
        assert (await mine).json["error"]["code"] == -32800
        fixture.release.set()
        assert text(await theirs) == "changed"


async def test_a_client_that_stops_reading_its_stream_delays_nobody_and_loses_the_stream() -> None:
    limits = CarrierLimits(send_timeout_s=0.2, comment_every_s=0.05)
    async with serving(limits=limits) as fixture:
        deaf, peer = await connected(fixture), await connected(fixture)
        async with opened(fixture, deaf) as (_, deaf_stream), opened(fixture, peer) as hearing:
            reader, peer_stream = hearing
            assert deaf_stream.offer(TOO_MUCH)
            assert peer_stream.offer(notification_frame("notifications/x", {"to": "peer"}))
            async with asyncio.timeout(BOUND_S):
                assert b'"to":"peer"' in await reader.readuntil(b'"peer"}}\n\n')
            assert text(await peer.call("echo", text="still here")) == "still here"
            ended = await asyncio.wait_for(fixture.closed.get(), BOUND_S)
            assert ended is deaf_stream
            assert ended.ended is EndReason.DISCONNECTED
            assert not ended.offer(b"more")


async def test_a_session_keeps_the_version_it_agreed_on_whatever_a_header_names() -> None:
    async with serving() as fixture:
        client = await connected(fixture, "2025-06-18")
        assert text(await client.call("version")) == "2025-06-18"
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"version"}}'
        for named in ("2025-11-25", "2025-03-26", "2024-11-05"):
            headers = client.headers(**{"MCP-Protocol-Version": named})
            answer = await exchange(fixture.port, request_bytes("POST", body, headers))
            assert text(answer) == "2025-06-18"


@pytest.mark.parametrize("name", ["Mcp-Method", "Mcp-Name", "MCP-Protocol-Version"])
async def test_a_routing_header_that_comes_twice_is_refused_even_when_both_agree(name: str) -> None:
    call = raw("tools/call", {"name": "echo", "arguments": {"text": "hi"}})
    values = {"Mcp-Method": "tools/call", "Mcp-Name": "echo", "MCP-Protocol-Version": VERSION}
    head, _, body = call.partition(b"\r\n\r\n")
    twice = head + f"\r\n{name.lower()}: {values[name]}\r\n\r\n".encode() + body
    async with serving() as fixture:
        assert text(await exchange(fixture.port, call)) == "hi"
        refused = await exchange(fixture.port, twice)
        assert (refused.status, refused.json["error"]["code"]) == (400, -32020)
        assert name.lower() in refused.json["error"]["message"].lower()
