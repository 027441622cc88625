"""Requests with a few bytes changed: each is answered or cut off, none is an error of ours."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable

import pytest

from agent_transport.listener import SocketLimits
from tests.agent_transport.mcp.fixture_server import serving
from tests.agent_transport.mcp.test_isolation import connected, text
from tests.agent_transport.mcp.test_modern import raw as modern
from tests.agent_transport.mcp.wire_client import BOUND_S, Client, request_bytes

ROUNDS = 50
INTERESTING = [
    b"\x00",
    b"\r",
    b"\n",
    b"\r\n\r\n",
    b"\xff",
    b" ",
    b":",
    b'"',
    b"{",
    b"]",
    b"0",
    b"-",
]


def replaced(dice: random.Random, message: bytes) -> bytes:
    at = dice.randrange(len(message))
    return message[:at] + dice.choice(INTERESTING) + message[at + 1 :]


def inserted(dice: random.Random, message: bytes) -> bytes:
    at = dice.randrange(len(message))
    return message[:at] + dice.choice(INTERESTING) * dice.choice((1, 1, 1, 300)) + message[at:]


def cut_out(dice: random.Random, message: bytes) -> bytes:
    at = dice.randrange(len(message))
    return message[:at] + message[at + dice.randrange(1, 40) :]


def doubled(dice: random.Random, message: bytes) -> bytes:
    """One of its lines twice."""
    lines = message.split(b"\r\n")
    at = dice.randrange(len(lines))
    return b"\r\n".join([*lines[: at + 1], *lines[at:]])


MUTATIONS: list[Callable[[random.Random, bytes], bytes]] = [replaced, inserted, cut_out, doubled]


async def send(port: int, message: bytes) -> bytes:
    """The first of what comes back; nothing when the server only closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(message)
        async with asyncio.timeout(BOUND_S):
            return await reader.read(65536)
    except ConnectionError:
        return b""
    finally:
        writer.transport.abort()


def whole_messages(client: Client) -> list[bytes]:
    call = {"name": "echo", "arguments": {"text": "hi"}}
    return [
        client.raw("tools/call", call),
        client.raw("tools/list"),
        modern("tools/call", call),
        modern("server/discover"),
        request_bytes("DELETE", b"", {"Mcp-Session-Id": "nobody"}),
        request_bytes("GET", b"", client.headers(Accept="text/event-stream")),
    ]


@pytest.mark.parametrize("seed", range(4))
async def test_a_mutated_request_is_answered_or_cut_off_and_the_next_one_is_served(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    dice = random.Random(seed)
    limits = SocketLimits(header_s=0.5, body_s=0.5, idle_s=0.5)
    async with serving(socket_limits=limits) as fixture:
        client = await connected(fixture)
        with caplog.at_level(logging.WARNING):
            for _ in range(ROUNDS):
                message = dice.choice(whole_messages(client))
                for mutate in dice.choices(MUTATIONS, k=dice.randrange(1, 4)):
                    message = mutate(dice, message)
                answer = await send(fixture.port, message)
                assert not answer or answer.startswith(b"HTTP/1.1 "), (message, answer)
                assert not answer.startswith(b"HTTP/1.1 5"), (message, answer)
        assert text(await client.call("echo", text="unharmed")) == "unharmed"
    assert [record.getMessage() for record in caplog.records] == []
