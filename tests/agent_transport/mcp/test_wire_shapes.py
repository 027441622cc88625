"""The carrier on its listener under requests of every shape that HTTP allows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent_transport.mcp import CarrierLimits, EndReason, notification_frame
from tests.agent_transport.mcp.fixture_server import KEY, serving
from tests.agent_transport.mcp.test_isolation import connected, opened
from tests.agent_transport.mcp.wire_client import (
    BOUND_S,
    Client,
    exchange,
    read_chunked,
    read_head,
    request_bytes,
    until_eof,
)

PROMPT_S = 1.0


@asynccontextmanager
async def wire(
    client: Client,
) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def next_json(reader: asyncio.StreamReader) -> Any:
    status, headers = await read_head(reader)
    assert status == 200, status
    return json.loads(await reader.readexactly(int(headers["content-length"])))


def chunked(raw: bytes, trailers: bytes = b"") -> bytes:
    """The same request with a body in chunks of one byte, and with trailers."""
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length")]
    pieces = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    framed = [*lines, b"Transfer-Encoding: chunked"]
    return b"\r\n".join(framed) + b"\r\n\r\n" + pieces + b"0\r\n" + trailers + b"\r\n"


async def test_pipelined_calls_are_answered_in_their_order_on_one_connection() -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        async with wire(client) as (reader, writer):
            calls = (("undoable", "a"), ("echo", "b"), ("echo", "c"))
            for tool, name in calls:
                params = {"name": tool, "arguments": {"text": name}}
                writer.write(client.raw("tools/call", params, name))
            await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
            fixture.release.set()
            assert [(await next_json(reader))["id"] for _ in calls] == ["a", "b", "c"]


async def test_a_body_in_chunks_is_the_same_body_and_its_trailers_name_no_session() -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        session = client.session
        assert (await exchange(fixture.port, chunked(client.raw("ping")))).json["result"] == {}
        client.session = None
        trailers = f"Mcp-Session-Id: {session}\r\n".encode()
        nameless = await exchange(fixture.port, chunked(client.raw("ping"), trailers))
        assert (nameless.status, nameless.json["error"]["code"]) == (400, -32600)


async def test_a_client_that_asks_before_it_sends_is_asked_for_a_body_that_fits() -> None:
    async with serving(limits=CarrierLimits(body_bytes=1000)) as fixture:
        client = await connected(fixture)
        head, _, body = client.raw("ping").partition(b"\r\n\r\n")
        async with wire(client) as (reader, writer):
            writer.write(head + b"\r\nExpect: 100-continue\r\n\r\n")
            assert (await read_head(reader))[0] == 100
            writer.write(body)
            assert (await next_json(reader))["result"] == {}
        too_much = client.headers() | {"Content-Length": "1001", "Expect": "100-continue"}
        assert (await exchange(fixture.port, request_bytes("POST", b"", too_much))).status == 413


async def test_a_client_of_http_1_0_gets_json_and_an_event_stream_without_chunks() -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        progress = {"name": "progress", "_meta": {"progressToken": 1}}
        for params, kind in (({"name": "echo"}, b"application/json"), (progress, b"text/event-")):
            async with wire(client) as (reader, writer):
                writer.write(client.raw("tools/call", params).replace(b"HTTP/1.1", b"HTTP/1.0", 1))
                async with asyncio.timeout(BOUND_S):
                    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            assert b"content-type: " + kind in head
            assert b"transfer-encoding" not in head
            assert json.loads(body.split(b"data: ")[-1])["result"]["content"]


async def test_a_body_that_breaks_off_calls_nothing() -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        async with wire(client) as (_, writer):
            writer.write(client.raw("tools/call", {"name": "undoable", "arguments": {}})[:-1])
            await writer.drain()
        assert (await client.call("echo", text="next")).status == 200
        assert not fixture.waiting.is_set()


async def test_a_client_that_closes_its_half_counts_as_gone() -> None:
    """Nothing tells a half-closed socket from a closed one, and a claim must not be lost."""
    async with serving() as fixture:
        client = await connected(fixture)
        async with wire(client) as (reader, writer):
            writer.write(client.raw("tools/call", {"name": "undoable", "arguments": {}}))
            await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
            writer.write_eof()
            assert await asyncio.wait_for(reader.read(), BOUND_S) == b""
        fixture.release.set()
        await asyncio.wait_for(fixture.undone.wait(), BOUND_S)


async def test_a_client_that_reads_a_large_answer_late_gets_it_whole_and_delays_nobody() -> None:
    text = "x" * 900_000
    async with serving() as fixture:
        slow, peer = await connected(fixture), await connected(fixture)
        async with wire(slow) as (reader, writer):
            for _ in range(8):
                writer.write(slow.raw("tools/call", {"name": "echo", "arguments": {"text": text}}))
            for number in range(20):
                answer = await peer.call("echo", text=str(number))
                assert answer.json["result"]["content"][0]["text"] == str(number)
            async with asyncio.timeout(BOUND_S):
                for _ in range(8):
                    assert (await next_json(reader))["result"]["content"][0]["text"] == text


async def test_progress_after_the_late_switch_goes_on_the_stream_that_was_begun() -> None:
    limits = CarrierLimits(late_stream_after_s=0.01, comment_every_s=30)
    async with serving(limits=limits) as fixture:
        client = await connected(fixture)
        params = {"name": "progress", "arguments": {"after_release": True}}
        async with wire(client) as (reader, writer):
            writer.write(client.raw("tools/call", params | {"_meta": {"progressToken": "t"}}, 7))
            assert (await read_head(reader))[1]["content-type"] == "text/event-stream"
            async with asyncio.timeout(BOUND_S):
                await reader.readuntil(b": working\n\n\r\n")
                fixture.release.set()
                rest = await read_chunked(reader)
        frames = [json.loads(part.split(b"\n")[0]) for part in rest.split(b"data: ")[1:]]
        assert [frame.get("method", frame.get("id")) for frame in frames] == [
            "notifications/progress",
            7,
        ]


async def test_a_revoked_client_that_reads_nothing_loses_its_stream_within_a_second() -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        async with opened(fixture, client) as (_, stream):
            for size in (32 * 1024 * 1024, 1):  # the second one waits behind the first
                assert stream.offer(notification_frame("n/x", {"text": "x" * size}))
                await client.post("ping")
            fixture.carrier.end(KEY, EndReason.REVOKED)
            ended = await asyncio.wait_for(fixture.closed.get(), PROMPT_S)
            assert ended.ended is EndReason.REVOKED


@pytest.mark.parametrize(
    ("reason", "is_told"), [(EndReason.DRAINED, True), (EndReason.REVOKED, False)]
)
async def test_what_waits_for_a_stream_is_told_at_a_drain_and_not_to_a_revoked_client(
    reason: EndReason, is_told: bool
) -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        async with opened(fixture, client) as (reader, stream):
            assert stream.offer(notification_frame("n/x", {"word": "waiting"}))
            fixture.carrier.end(KEY, reason)
            assert (b"waiting" in await until_eof(reader)) is is_told


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE", "PUT"])
async def test_a_probe_is_refused_and_leaves_no_session(method: str) -> None:
    async with serving() as fixture, wire(Client(fixture.port)) as (reader, writer):
        writer.write(request_bytes(method, b"", {"Accept": "*/*"}))
        status, headers = await read_head(reader)
        assert (status, "allow" in headers) in {(400, False), (405, True)}
        assert "mcp-session-id" not in headers
        assert fixture.sessions.rows == {}
