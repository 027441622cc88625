"""Requests that two readers could read in two ways, and answers to clients without chunks."""

from __future__ import annotations

import pytest

from agent_transport.admission.asgi import Receive, Scope, Send
from tests.agent_transport.listener.peer import answer, echo, greet, peer_of, serving

POST = b"POST / HTTP/1.1\r\nHost: x\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    "request_bytes",
    [
        POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: \x0bchunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        POST + b"X: a\rTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        POST.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
        POST + b"Content-Length: 1, 1\r\n\r\na",
        POST + b"Content-Length: +1\r\n\r\na",
        POST + b"Content-Length: 0x1\r\n\r\na",
        POST + b"Content-Length: 99999999999999999999999\r\n\r\na",
        POST + b"X: folded\r\n Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\na",
        POST + b"X: a\x00b\r\nContent-Length: 1\r\n\r\na",
        POST.replace(b"\r\n", b"\n") + b"Content-Length: 1\n\na",
        POST.replace(b"1.1", b"2.0") + b"Content-Length: 1\r\n\r\na",
        POST + b"Transfer-Encoding: chunked\r\n\r\n1\na\n0\n\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\na\r\n0\r\n\r\n",
    ],
)
async def test_ambiguous_request_is_refused_with_all_that_follows_it(request_bytes: bytes) -> None:
    async with serving(echo) as listener, peer_of(listener) as peer:
        await peer.send(request_bytes + SMUGGLED)
        answered = await peer.read_to_end()
        assert answered.startswith(b"HTTP/1.1 400 ")
        assert answered.count(b"HTTP/1.1 ") == 1
        assert answered.endswith(b"content-length: 0\r\nconnection: close\r\n\r\n")


@pytest.mark.parametrize(
    ("target", "host"),
    [
        (b"http://elsewhere/x", b"x"),
        (b"http://x:81/x", b"x:80"),
        (b"http://x@elsewhere/x", b"x"),
    ],
)
async def test_target_that_overrules_the_host_header_is_refused(target: bytes, host: bytes) -> None:
    async with serving(greet) as listener, peer_of(listener) as peer:
        await peer.send(b"GET " + target + b" HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
        assert (await peer.read_to_end()).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("target", "host"), [(b"http://X/path?q", b"x"), (b"http://[::1]:80/path", b"[::1]:80")]
)
async def test_absolute_target_of_the_same_host_is_served(target: bytes, host: bytes) -> None:
    async with serving(greet) as listener, peer_of(listener) as peer:
        await peer.send(b"GET " + target + b" HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
        assert (await peer.read_until(b"/path")).startswith(b"HTTP/1.1 200 ")


async def test_what_follows_a_last_request_is_not_answered() -> None:
    async with serving(greet) as listener, peer_of(listener) as peer:
        await peer.send(b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + SMUGGLED)
        answered = await peer.read_to_end()
        assert answered.endswith(b"/a")
        assert answered.count(b"HTTP/1.1 ") == 1


async def in_parts(scope: Scope, receive: Receive, send: Send) -> None:
    """An answer whose length nobody knows beforehand."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for part in (b"one ", b"", b"two"):
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def test_client_of_http_1_0_gets_no_chunks_and_a_closed_connection() -> None:
    async with serving(in_parts) as listener, peer_of(listener) as peer:
        await peer.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        head, _, body = (await peer.read_to_end()).partition(b"\r\n\r\n")
        assert b"connection: close" in head
        assert b"transfer-encoding" not in head
        assert body == b"one two"


async def test_client_of_http_1_0_gets_an_answer_of_known_length_as_it_is() -> None:
    async def known(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"known")

    async with serving(known) as listener, peer_of(listener) as peer:
        await peer.send(b"GET / HTTP/1.0\r\n\r\n")
        head, _, body = (await peer.read_to_end()).partition(b"\r\n\r\n")
        assert b"content-length: 5" in head
        assert body == b"known"
