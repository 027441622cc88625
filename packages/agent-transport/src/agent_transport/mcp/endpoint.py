"""What an admitted request passes on either HTTP host: the method, the number in flight, the body.

Each refusal here is empty. What comes after is the wire of the protocol, and the SDK's.
"""

from __future__ import annotations

from typing import Any

from mcp.server import Server

from agent_transport.admission import (
    MAX_BODY_BYTES,
    SECURITY_HEADERS,
    Reason,
    Refusal,
    send_refusal,
)
from agent_transport.admission.asgi import Receive, Scope, Send
from agent_transport.mcp.http import McpHttpCarrier
from agent_transport.mcp.limits import CarrierLimits

MAX_IN_FLIGHT = 16
"""A session runs one turn at a time: more callers than this are waiting for each other."""

_NO_METHOD = Refusal(405, Reason.METHOD, ((b"allow", b"POST"),))
_BUSY = Refusal(503, Reason.BUSY)


class StatelessEndpoint:
    """One agent server behind a gate, as an ASGI application. Every POST stands alone."""

    def __init__(self, server: Server[Any]) -> None:
        limits = CarrierLimits(body_bytes=MAX_BODY_BYTES, calls_per_key=MAX_IN_FLIGHT)
        self._carrier: McpHttpCarrier[None] = McpHttpCarrier(
            server, sessions=None, key=_one_for_all, limits=limits, bare_refusals=True
        )
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._live(receive, send)
        if scope["method"] != "POST":
            return await send_refusal(send, _NO_METHOD)
        if self._in_flight >= MAX_IN_FLIGHT:
            return await send_refusal(send, _BUSY)
        self._in_flight += 1
        try:
            # The time that a body may take is bounded by the listener, which has to have a bound.
            return await self._carrier.serve(
                scope, receive, send, caller=None, headers=SECURITY_HEADERS
            )
        finally:
            self._in_flight -= 1

    async def drain(self) -> None:
        """Tell all calls that they are over, and take no new ones."""
        self._carrier.drain()

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await self._carrier.start()
        try:
            await send({"type": "lifespan.startup.complete"})
            await receive()
        finally:
            await self._carrier.stop()
        await send({"type": "lifespan.shutdown.complete"})


def _one_for_all(_: None) -> None:
    return None
