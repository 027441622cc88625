"""What a stranger may not do with a socket: be slow, be heavy, or come in crowds."""

from __future__ import annotations

import asyncio
import math
import socket
import time
from contextlib import AsyncExitStack

import pytest

from agent_transport.admission.asgi import Receive, Scope, Send
from agent_transport.errors import ConfigurationError
from agent_transport.listener import SocketLimits
from tests.agent_transport.listener.peer import answer, echo, greet, peer_of, serving

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
CHUNKED = b"POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


def status_of(answered: bytes) -> int:
    return int(answered.split(b" ", 2)[1])


async def test_connection_that_says_nothing_is_closed_without_an_answer() -> None:
    async with serving(greet, header_s=0.05) as listener, peer_of(listener) as peer:
        assert await peer.read_to_end() == b""


async def test_headers_that_never_end_are_cut_with_an_empty_408() -> None:
    async with serving(greet, header_s=0.05) as listener, peer_of(listener) as peer:
        await peer.send(b"GET / HTTP/1.1\r\nHost: x\r\n")
        cut = await peer.read_to_end()
        assert status_of(cut) == 408
        assert cut.endswith(b"content-length: 0\r\nconnection: close\r\n\r\n")


async def test_dripping_headers_do_not_extend_their_time() -> None:
    async with serving(greet, header_s=0.2) as listener, peer_of(listener) as peer:
        began_s = time.monotonic()
        reading = asyncio.create_task(peer.read_to_end())
        await peer.send(b"GET / HTTP/1.1\r\nX: ")
        while not reading.done():
            try:
                await peer.send(b"a")
            except OSError:
                break
            await asyncio.wait([reading], timeout=0.02)
        assert status_of(await reading) == 408
        assert time.monotonic() - began_s < 1.0


async def test_blank_lines_between_requests_do_not_keep_a_connection() -> None:
    async with serving(greet, idle_s=0.2) as listener, peer_of(listener) as peer:
        await peer.send(GET)
        await peer.read_until(b"/a")
        reading = asyncio.create_task(peer.read_to_end())
        while not reading.done():
            try:
                await peer.send(b"\r\n")
            except OSError:
                break
            await asyncio.wait([reading], timeout=0.02)
        assert await reading == b""


async def test_headers_of_a_later_request_have_the_same_time() -> None:
    async with serving(greet, header_s=0.05) as listener, peer_of(listener) as peer:
        await peer.send(GET)
        await peer.read_until(b"/a")
        await peer.send(b"GET / HTTP/1.1\r\nHost: x\r\n")
        assert status_of(await peer.read_to_end()) == 408


async def test_kept_connection_without_a_request_is_closed() -> None:
    async with serving(greet, idle_s=0.05) as listener, peer_of(listener) as peer:
        await peer.send(GET)
        await peer.read_until(b"/a")
        assert await peer.read_to_end() == b""


async def test_half_sent_body_is_cut_and_the_application_sees_the_client_gone() -> None:
    seen: asyncio.Queue[str] = asyncio.Queue()

    async def listening(scope: Scope, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] != "http.disconnect":
            seen.put_nowait(message["body"].decode())
        seen.put_nowait("gone")

    async with serving(listening, body_s=0.05) as listener, peer_of(listener) as peer:
        await peer.send(POST + b"ab")
        assert status_of(await peer.read_to_end()) == 408
        assert [await seen.get(), await seen.get()] == ["ab", "gone"]


async def test_answer_that_takes_longer_than_every_limit_is_still_given() -> None:
    release = asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await release.wait()
        await answer(send)

    limits = {"header_s": 0.05, "body_s": 0.05, "idle_s": 0.05}
    async with serving(slow, **limits) as listener, peer_of(listener) as peer:
        await peer.send(POST + b"abcd")
        asyncio.get_running_loop().call_later(0.3, release.set)
        assert status_of(await peer.read_until(b"ok")) == 200


@pytest.mark.parametrize("at_once", [True, False], ids=["in one piece", "in pieces"])
async def test_headers_beyond_the_limit_get_431(at_once: bool) -> None:
    async with serving(greet, header_bytes=1000) as listener, peer_of(listener) as peer:
        head = b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 1200 + b"\r\n\r\n"
        pieces = [head] if at_once else [head[:600], head[600:]]
        for piece in pieces:
            await peer.send(piece)
        assert status_of(await peer.read_to_end()) == 431


async def test_one_endless_header_is_refused_before_it_is_complete() -> None:
    async with serving(greet, header_bytes=1000) as listener, peer_of(listener) as peer:
        await peer.send(b"GET / HTTP/1.1\r\nX: " + b"a" * 5000)
        assert status_of(await peer.read_to_end()) == 431


async def test_large_body_does_not_count_as_headers() -> None:
    async with serving(echo, header_bytes=1000) as listener, peer_of(listener) as peer:
        body = b"b" * 5000
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n"
        await peer.send(head + body + head + body)
        assert (await peer.read_until(body)).startswith(b"HTTP/1.1 200")
        assert (await peer.read_until(body)).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "flood",
    [b"0\r\n" + b"X-Trailer: 1\r\n" * 200, b"1;" + b"e" * 3000, b"0\r\nX: " + b"t" * 3000],
    ids=["many trailers", "one chunk extension", "one trailer"],
)
async def test_trailers_and_chunk_extensions_are_bounded(flood: bytes) -> None:
    arrived = asyncio.Event()

    async def listening(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            arrived.set()

    async with serving(listening, header_bytes=1000) as listener, peer_of(listener) as peer:
        await peer.send(CHUNKED + b"2\r\nab\r\n")
        await arrived.wait()
        await peer.send(flood)
        assert status_of(await peer.read_to_end()) == 431


async def test_trailers_never_join_the_headers_that_were_judged() -> None:
    async def names(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        await answer(send, b",".join(name for name, _ in scope["headers"]))

    async with serving(names) as listener, peer_of(listener) as peer:
        await peer.send(CHUNKED + b"2\r\nab\r\n0\r\nAuthorization: Bearer x\r\n\r\n")
        assert (await peer.read_until(b"transfer-encoding")).endswith(b"host,transfer-encoding")


async def test_connection_beyond_the_limit_is_told_503_and_closed() -> None:
    async with serving(greet, connections=3) as listener, AsyncExitStack() as crowd:
        for _ in range(3):
            peer = await crowd.enter_async_context(peer_of(listener))
            await peer.send(GET)
            await peer.read_until(b"/a")
        async with peer_of(listener) as late:
            told = await late.read_to_end()
        assert status_of(told) == 503
        assert told.endswith(b"content-length: 0\r\nconnection: close\r\n\r\n")
        assert listener.connections == 3


async def test_place_of_a_closed_connection_is_free_again() -> None:
    async with serving(greet, connections=1) as listener:
        for _ in range(3):
            async with peer_of(listener) as peer:
                await peer.send(b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                assert status_of(await peer.read_to_end()) == 200


async def test_vanished_peer_is_given_up_after_the_user_timeout() -> None:
    found: list[int] = []

    async def look(scope: Scope, receive: Receive, send: Send) -> None:
        (connection,) = listener._open.connections  # pyright: ignore[reportPrivateUsage]
        accepted = connection.transport.get_extra_info("socket")
        found.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT))
        await answer(send)

    listener = serving(look, user_timeout_s=7)
    async with listener, peer_of(listener) as peer:
        await peer.send(GET)
        await peer.read_until(b"ok")
    assert found == [7000]


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_limit_that_limits_nothing_is_refused(value: float) -> None:
    with pytest.raises(ConfigurationError) as refused:
        SocketLimits(header_s=value)
    assert refused.value.field == "header_s"
