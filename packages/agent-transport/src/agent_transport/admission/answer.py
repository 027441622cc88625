"""Sending what was decided: an empty refusal that closes the connection, a small JSON document."""

from __future__ import annotations

from agent_transport.admission.asgi import Send
from agent_transport.admission.decision import Headers, Refusal

SECURITY_HEADERS: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)
"""On every answer of an admitted surface, refusals and streams included."""

_CLOSE: Headers = ((b"content-length", b"0"), (b"connection", b"close"))


async def send_refusal(send: Send, refusal: Refusal, headers: Headers = SECURITY_HEADERS) -> None:
    """Answer with an empty body and close: the rest of the request is not worth reading.

    Keeping the connection would mean reading a stranger's whole body to find its end.
    """
    await send_empty(send, refusal.status, (*headers, *refusal.headers, *_CLOSE[1:]))


async def send_empty(send: Send, status: int, headers: Headers = SECURITY_HEADERS) -> None:
    """Answer with an empty body."""
    if status != 204:  # RFC 9110 §8.6: a 204 has no Content-Length
        headers = (*headers, _CLOSE[0])
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def send_json(send: Send, body: bytes, headers: Headers = SECURITY_HEADERS) -> None:
    """Answer 200 with a JSON document that is already encoded."""
    described = (
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode("ascii")),
    )
    await send({"type": "http.response.start", "status": 200, "headers": (*headers, *described)})
    await send({"type": "http.response.body", "body": body})
