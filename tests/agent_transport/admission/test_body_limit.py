"""A body is read as far as it is allowed to go, and not one message further."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_transport.admission import (
    MAX_BODY_BYTES,
    BodyFault,
    Reason,
    Refusal,
    body_refusal,
    declares_more_than,
    read_body,
    send_refusal,
)
from agent_transport.admission.asgi import Message
from tests.agent_transport.admission.asgi_peer import feeding, part, request

DISCONNECT: Message = {"type": "http.disconnect"}


def declaring(length: bytes) -> dict[str, object]:
    return request(headers=((b"content-length", length),))


async def test_body_of_exactly_the_limit_is_read_whole() -> None:
    receive, _ = feeding(part(b"a" * 6, more=True), part(b"b" * 4))
    assert await read_body(declaring(b"10"), receive, 10) == b"aaaaaabbbb"


async def test_body_without_bytes_is_empty() -> None:
    receive, _ = feeding(part(b""))
    assert await read_body(request(), receive, 10) == b""


@pytest.mark.parametrize("length", [b"11", b"314572800", b"9" * 5000, b"0000011"])
async def test_declared_length_beyond_the_limit_is_refused_before_reading(length: bytes) -> None:
    receive, left = feeding(part(b"a" * 11))
    assert await read_body(declaring(length), receive, 10) is BodyFault.TOO_LARGE
    assert len(left) == 1


async def test_chunked_body_is_counted_while_it_is_read_and_the_rest_is_left() -> None:
    receive, left = feeding(part(b"a" * 6, more=True), part(b"b" * 5, more=True), part(b"c"))
    assert await read_body(request(), receive, 10) is BodyFault.TOO_LARGE
    assert left == [part(b"c")]


async def test_body_that_outgrows_its_declared_length_is_still_counted() -> None:
    receive, _ = feeding(part(b"a" * 11))
    assert await read_body(declaring(b"3"), receive, 10) is BodyFault.TOO_LARGE


@pytest.mark.parametrize("over", [0, 1])
async def test_limit_is_one_mebibyte_to_the_byte(over: int) -> None:
    receive, _ = feeding(part(b"a" * MAX_BODY_BYTES, more=True), part(b"b" * over))
    outcome = await read_body(request(), receive)
    assert (outcome is BodyFault.TOO_LARGE) is bool(over)
    assert MAX_BODY_BYTES == 1_048_576


async def test_client_that_leaves_in_the_middle_is_no_body() -> None:
    receive, _ = feeding(part(b"a", more=True), DISCONNECT)
    assert await read_body(request(), receive, 10) is BodyFault.DISCONNECTED


async def test_body_that_never_ends_is_given_up() -> None:
    async def receive() -> Message:
        await asyncio.Event().wait()
        return DISCONNECT

    assert await read_body(request(), receive, 10, bound_s=0.01) is BodyFault.TOO_SLOW


async def test_cancelling_the_reader_is_no_timeout() -> None:
    waiting = asyncio.Event()

    async def receive() -> Message:
        waiting.set()
        await asyncio.Event().wait()
        return DISCONNECT

    reading = asyncio.create_task(read_body(request(), receive, 10))
    await waiting.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading


@pytest.mark.parametrize(
    ("length", "more"),
    [
        (b"10", False),
        (b"11", True),
        (b"0010", False),
        (b"", False),
        (b"-5", False),
        (b"abc", False),
        (b"\xb2", False),
    ],
)
def test_only_a_readable_length_declares_anything(length: bytes, more: bool) -> None:
    assert declares_more_than(10, [(b"content-length", length)]) is more


@given(st.integers(0, 10**30), st.integers(1, 10**9))
def test_length_is_compared_as_the_number_it_is(length: int, limit: int) -> None:
    headers = [(b"content-length", str(length).encode())]
    assert declares_more_than(limit, headers) is (length > limit)


@given(st.lists(st.binary(max_size=8), min_size=1, max_size=10))
async def test_body_in_any_pieces_is_the_same_body(pieces: list[bytes]) -> None:
    *most, last = pieces
    receive, _ = feeding(*(part(piece, more=True) for piece in most), part(last))
    whole = b"".join(pieces)
    expected = whole if len(whole) <= 40 else BodyFault.TOO_LARGE
    assert await read_body(request(), receive, 40) == expected


@pytest.mark.parametrize(
    ("fault", "status"),
    [(BodyFault.TOO_LARGE, 413), (BodyFault.TOO_SLOW, 408), (BodyFault.DISCONNECTED, None)],
)
def test_each_fault_has_one_answer(fault: BodyFault, status: int | None) -> None:
    refusal = body_refusal(fault)
    assert (refusal and refusal.status) == status


async def test_refusal_is_empty_closes_and_carries_the_security_headers() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    refusal = Refusal(429, Reason.THROTTLED, ((b"retry-after", b"3"),))
    await send_refusal(send, refusal)
    start, body = sent
    assert start["status"] == 429
    assert dict(start["headers"]) == {
        b"x-content-type-options": b"nosniff",
        b"cache-control": b"no-store",
        b"retry-after": b"3",
        b"connection": b"close",
        b"content-length": b"0",
    }
    assert body == {"type": "http.response.body", "body": b""}
