"""A client that takes nothing of what it is sent: how long it may, and whom it holds up."""

from __future__ import annotations

import asyncio

from agent_transport.admission.asgi import Receive, Scope, Send
from tests.agent_transport.listener.peer import WAIT_S, answer, peer_of, serving

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
PIECE, PIECES = b"x" * 1_000_000, 24
SIZE = len(PIECE) * PIECES
"""More than the sockets of both sides hold together."""


class Flood:
    """Sends for as long as anybody may be there, and notes that nobody is."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.client_gone = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()
        for _ in range(PIECES):
            self.begun.set()
            await send({"type": "http.response.body", "body": PIECE, "more_body": True})
        if (await receive())["type"] == "http.disconnect":
            self.client_gone.set()


async def test_client_that_reads_nothing_of_a_stream_is_cut_off() -> None:
    flood = Flood()
    async with serving(flood, stall_s=0.2) as listener, peer_of(listener) as peer:
        await peer.send(GET)
        async with asyncio.timeout(WAIT_S):
            await flood.client_gone.wait()
        assert listener.connections == 0


async def big_answer(scope: Scope, receive: Receive, send: Send) -> None:
    await answer(send, b"x" * SIZE)


async def test_client_that_reads_nothing_of_a_whole_answer_is_cut_off() -> None:
    async with serving(big_answer, stall_s=0.2) as listener, peer_of(listener) as peer:
        await peer.send(GET)
        await peer.read_until(b"HTTP/1.1 200 ")
        async with asyncio.timeout(WAIT_S):
            await listener._open.all_closed.wait()  # pyright: ignore[reportPrivateUsage]
        assert len(await peer.read_to_end()) < SIZE


async def test_client_that_reads_at_last_gets_everything() -> None:
    async with serving(big_answer, stall_s=WAIT_S) as listener, peer_of(listener) as peer:
        await peer.send(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        await peer.read_until(b"\r\n\r\n")
        assert await peer.read_to_end() == b"x" * SIZE


async def test_client_that_reads_nothing_does_not_use_up_the_grace() -> None:
    flood = Flood()
    async with serving(flood) as listener, peer_of(listener) as peer:
        await peer.send(GET)
        async with asyncio.timeout(WAIT_S):
            await flood.begun.wait()
        async with asyncio.timeout(WAIT_S / 2):
            await listener.stop()
    assert flood.client_gone.is_set()
