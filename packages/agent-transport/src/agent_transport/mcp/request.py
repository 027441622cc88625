"""One admitted HTTP request, and the answers that need nothing but it."""

from __future__ import annotations

import random
from typing import Generic, TypeVar

from mcp_types import INVALID_REQUEST

from agent_transport.admission.asgi import Receive, Scope, Send
from agent_transport.admission.decision import Reason, Refusal
from agent_transport.admission.throttle import retry_after
from agent_transport.mcp.modern import is_modern
from agent_transport.mcp.wire import (
    CLOSE,
    JSON_TYPE,
    Fault,
    Headers,
    accepts,
    refuse,
    respond,
    send_fault,
)

C = TypeVar("C")

STORE_BACK_S = 2.0
"""Retry-After of a 503: long enough for a lock or a restart, short enough to go unnoticed."""
_UNAUTHORIZED = Refusal(401, Reason.CREDENTIAL, ((b"www-authenticate", b"Bearer"),))
_NOT_ACCEPTABLE = Fault(406, INVALID_REQUEST, "Not acceptable: accept text/event-stream")


class AdmittedRequest(Generic[C]):
    """Who asks, what, and where the answer goes. `headers` go on every answer.

    `lines` has lower-case names and, for a repeated header, the last value; Accept is a list, so
    all of its values count.
    """

    __slots__ = ("caller", "headers", "is_modern", "lines", "receive", "scope", "send")

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, caller: C, headers: Headers
    ) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.caller = caller
        self.headers = headers
        raw = scope["headers"]
        self.lines: dict[bytes, bytes] = dict(raw)
        if len(self.lines) != len(raw) and b"accept" in self.lines:
            self.lines[b"accept"] = b",".join(value for name, value in raw if name == b"accept")
        self.is_modern = is_modern(self.lines)

    @property
    def takes_stream(self) -> bool:
        """Whether its client reads an event stream."""
        return accepts(self.lines.get(b"accept"), b"text/event-stream")

    async def accept(self) -> None:
        """Tell that a notification has come."""
        await respond(self.send, 202, b"", self.headers)

    async def error(self, status: int, body: bytes) -> None:
        """Answer with a JSON-RPC error."""
        await respond(self.send, status, body, [*self.headers, JSON_TYPE])

    async def fault(self, fault: Fault) -> None:
        """Answer a message that cannot be processed."""
        await send_fault(self.send, fault, self.headers)

    async def refuse(self, refusal: Refusal | None) -> None:
        """Refuse with an empty body; None: nobody is there to read it."""
        await refuse(self.send, refusal, self.headers)

    async def refuse_method(self, allowed: bytes) -> None:
        """Name the methods there are."""
        await respond(self.send, 405, b"", [*self.headers, (b"allow", allowed)])

    async def not_acceptable(self) -> None:
        """Its client does not take the event stream that it asks for."""
        await self.fault(_NOT_ACCEPTABLE)

    async def gone(self) -> None:
        """Tell that the session it named has ended."""
        await self.send({"type": "http.response.start", "status": 204, "headers": [*self.headers]})
        await self.send({"type": "http.response.body", "body": b""})

    async def unauthorized(self) -> None:
        """Its credential has ended since it was admitted."""
        await self.refuse(_UNAUTHORIZED)

    async def too_many(self, wait_s: float) -> None:
        """Send it away for a while."""
        again = retry_after(wait_s, random.random)
        await self.refuse(Refusal(429, Reason.THROTTLED, (again,)))

    async def unavailable(self) -> None:
        """The process drains, or cannot read a session; nothing is lost."""
        again = retry_after(STORE_BACK_S, random.random)
        await respond(self.send, 503, b"", [*self.headers, again, CLOSE])
