"""Reading a request body no further than allowed: in bytes, and in time. Nothing is drained."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from enum import StrEnum

from agent_transport.admission.asgi import Receive, Scope
from agent_transport.admission.decision import Reason, Refusal

MAX_BODY_BYTES = 1024 * 1024
BODY_BOUND_S = 30.0
"""How long a client may take over its body; a slow one holds a connection and its buffers."""


class BodyFault(StrEnum):
    """Why there is no body to work on."""

    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"
    DISCONNECTED = "disconnected"


_REFUSALS = {
    BodyFault.TOO_LARGE: Refusal(413, Reason.BODY_TOO_LARGE),
    BodyFault.TOO_SLOW: Refusal(408, Reason.BODY_TOO_SLOW),
    BodyFault.DISCONNECTED: None,
}


def body_refusal(fault: BodyFault) -> Refusal | None:
    """The answer to a fault. None: nobody is there to read it."""
    return _REFUSALS[fault]


def declares_more_than(limit_bytes: int, headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Tell from Content-Length alone that the body is too large, before a byte of it is read.

    Contradictory or unreadable lengths are the HTTP parser's to refuse; here the largest counts.
    """
    for name, value in headers:
        if name == b"content-length" and value.isdigit() and _exceeds(value, limit_bytes):
            return True
    return False


async def read_body(
    scope: Scope,
    receive: Receive,
    limit_bytes: int = MAX_BODY_BYTES,
    bound_s: float | None = BODY_BOUND_S,
) -> bytes | BodyFault:
    """Read the whole body, counting as it comes; stop at the first byte too many.

    `bound_s` None leaves the time to the listener, which then must have its own bound.
    Returning TOO_LARGE leaves the rest unread; `send_refusal` then closes the connection.
    """
    if declares_more_than(limit_bytes, scope["headers"]):
        return BodyFault.TOO_LARGE
    if bound_s is None:
        return await _collect(receive, limit_bytes)
    try:
        async with asyncio.timeout(bound_s):
            return await _collect(receive, limit_bytes)
    except TimeoutError:
        return BodyFault.TOO_SLOW


async def _collect(receive: Receive, limit_bytes: int) -> bytes | BodyFault:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return BodyFault.DISCONNECTED
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit_bytes:
            return BodyFault.TOO_LARGE
        if not message.get("more_body", False):
            return b"".join((*parts, part)) if parts else part
        parts.append(part)


_FEW_DIGITS = 18


def _exceeds(digits: bytes, limit_bytes: int) -> bool:
    if len(digits) <= _FEW_DIGITS:
        return int(digits) > limit_bytes
    # Compare lengths first: int() refuses, and older ones crawl over, thousands of digits.
    significant = digits.lstrip(b"0") or b"0"
    longest = len(str(limit_bytes))
    return len(significant) > longest or int(significant) > limit_bytes
