"""What an application sees of a header's value."""

from __future__ import annotations

import pytest

from agent_transport.admission.asgi import Receive, Scope, Send
from tests.agent_transport.listener.peer import answer, peer_of, serving


async def tell_value(scope: Scope, receive: Receive, send: Send) -> None:
    value = dict(scope["headers"])[b"x-told"]
    await answer(send, b"<" + value + b">")


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        (b"X-Told:a", b"<a>"),
        (b"X-Told: \t a b \t ", b"<a b>"),
        (b"X-Told:   ", b"<>"),
        (b"X-Told: a\xa0", b"<a\xa0>"),
    ],
)
async def test_whitespace_around_a_value_is_no_part_of_it(line: bytes, seen: bytes) -> None:
    async with serving(tell_value) as listener, peer_of(listener) as peer:
        await peer.send(b"GET / HTTP/1.1\r\nHost: x\r\n" + line + b"\r\n\r\n")
        assert (await peer.read_until(b">")).endswith(seen)
