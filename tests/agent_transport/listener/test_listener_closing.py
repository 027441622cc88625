"""Requests that are not read to their end, follow each other closely, or are no requests."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from agent_transport.admission.asgi import Receive, Scope, Send
from tests.agent_transport.listener.peer import answer, echo, greet, peer_of, refuse, serving

HUGE = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 314572800\r\n\r\n"


async def test_refusal_comes_before_the_body_is_sent() -> None:
    async with serving(refuse) as listener, peer_of(listener) as peer:
        await peer.send(HUGE)
        assert (await peer.read_to_end()).startswith(b"HTTP/1.1 401 ")


async def test_refused_body_of_300_mb_is_not_read() -> None:
    async with serving(refuse, linger_s=0.5) as listener, peer_of(listener) as peer:
        sent = 0
        await peer.send(HUGE)
        async with asyncio.timeout(10):
            with contextlib.suppress(OSError):
                while sent < 314_572_800:
                    await peer.send(b"b" * 1_000_000)
                    sent += 1_000_000
        # What the kernels on both sides hold is theirs; the listener takes linger_bytes off.
        assert sent < 40_000_000


async def test_answer_survives_a_body_that_is_still_being_sent() -> None:
    async with serving(refuse) as listener, peer_of(listener) as peer:
        await peer.send(HUGE + b"b" * 200_000)
        answered = await peer.read_to_end()
        assert answered.startswith(b"HTTP/1.1 401 ")
        assert answered.lower().count(b"connection: close\r\n") == 1


async def test_lingering_ends_although_the_client_sends_on() -> None:
    async with serving(refuse, linger_s=0.1, linger_bytes=1) as listener:
        async with peer_of(listener) as peer:
            await peer.send(HUGE + b"b" * 100_000)
            await peer.read_to_end()
            async with asyncio.timeout(5):
                with contextlib.suppress(OSError):
                    while True:
                        await peer.send(b"b" * 100_000)
        assert listener.connections == 0


async def test_answer_before_the_end_of_the_body_closes_the_connection() -> None:
    async with serving(greet) as listener, peer_of(listener) as peer:
        await peer.send(b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        answered = await peer.read_to_end()
        assert b"connection: close\r\n" in answered
        assert answered.endswith(b"/x")


async def test_whole_request_keeps_the_connection_though_nobody_read_its_body() -> None:
    async with serving(greet) as listener, peer_of(listener) as peer:
        for _ in range(2):
            await peer.send(b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
            assert b"connection: close" not in await peer.read_until(b"/x")


async def test_client_that_waits_for_100_is_refused_without_being_asked_for_the_body() -> None:
    async with serving(refuse) as listener, peer_of(listener) as peer:
        await peer.send(HUGE.replace(b"Host", b"Expect: 100-continue\r\nHost"))
        assert (await peer.read_to_end()).startswith(b"HTTP/1.1 401 ")


async def test_client_that_waits_for_100_is_asked_when_the_body_is_wanted() -> None:
    async with serving(echo) as listener, peer_of(listener) as peer:
        await peer.send(
            b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
        )
        await peer.read_until(b"HTTP/1.1 100 Continue\r\n\r\n")
        await peer.send(b"body")
        assert (await peer.read_until(b"body")).startswith(b"HTTP/1.1 200 ")


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with serving(greet) as listener, peer_of(listener) as peer:
        await peer.send(b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % n for n in range(5)))
        answered = b"".join([await peer.read_until(b"/%d" % n) for n in range(5)])
        assert answered.count(b"HTTP/1.1 200 ") == 5


async def test_endless_pipeline_ends_after_the_answer_that_is_due() -> None:
    async with serving(greet, pipelined=4) as listener, peer_of(listener) as peer:
        await peer.send(b"GET /first HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
        answered = await peer.read_to_end()
        assert answered.startswith(b"HTTP/1.1 200 ")
        assert answered.count(b"HTTP/1.1 ") == 1
        assert b"connection: close" in answered


@pytest.mark.parametrize(
    "rubbish",
    [
        b"rubbish\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01",
        b"GET / HTTP/1.1\r\nHost x\r\n\r\n",
        b"GET http:// HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http://elsewhere HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT elsewhere:443 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
async def test_what_is_no_request_gets_an_empty_400_that_names_no_server(rubbish: bytes) -> None:
    async with serving(greet) as listener, peer_of(listener) as peer:
        await peer.send(rubbish)
        answered = (await peer.read_to_end()).lower()
        assert answered.startswith(b"http/1.1 400 ")
        assert answered.endswith(b"content-length: 0\r\nconnection: close\r\n\r\n")
        assert b"server:" not in answered


async def test_rubbish_behind_a_request_does_not_overtake_its_answer() -> None:
    release = asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await release.wait()
        await answer(send, b"due")

    async with serving(slow) as listener, peer_of(listener) as peer:
        await peer.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nrubbish\r\n\r\n")
        asyncio.get_running_loop().call_later(0.05, release.set)
        answered = await peer.read_to_end()
        assert answered.startswith(b"HTTP/1.1 200 ")
        assert answered.endswith(b"due")


async def test_broken_chunk_ends_the_request_for_client_and_application() -> None:
    gone = asyncio.Event()

    async def listening(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()

    async with serving(listening) as listener, peer_of(listener) as peer:
        await peer.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
        assert (await peer.read_to_end()).startswith(b"HTTP/1.1 400 ")
        async with asyncio.timeout(5):
            await gone.wait()


async def test_upgrade_that_nobody_speaks_is_answered_as_a_plain_request() -> None:
    async with serving(greet) as listener, peer_of(listener) as peer:
        await peer.send(
            b"GET /up HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        )
        answered = await peer.read_to_end()
        assert answered.startswith(b"HTTP/1.1 200 ")
        assert answered.endswith(b"/up")


@pytest.mark.parametrize("behind", [b"", b"GET /second HTTP/1.1\r\nHost: x\r\n\r\n"])
async def test_application_is_told_when_its_client_has_gone(behind: bytes) -> None:
    begun, gone = asyncio.Event(), asyncio.Event()

    async def waiting(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()

    async with serving(waiting) as listener:
        async with peer_of(listener) as peer:
            await peer.send(b"GET /first HTTP/1.1\r\nHost: x\r\n\r\n" + behind)
            await begun.wait()
        async with asyncio.timeout(5):
            await gone.wait()
