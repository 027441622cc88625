"""Whether this process is alive, and whether it can do its work now."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from agent_transport.admission import Headers
from agent_transport.admission.asgi import Receive, Scope, Send

PING_BOUND_S = 2.0
"""Shorter than what probes wait, so that a stuck ledger is told and not guessed."""

_log = logging.getLogger(__name__)
_READY = b'{"status":"ready"}'
_ALIVE = b'{"status":"alive"}'
_DRAINING = b'{"status":"draining"}'
_DOWN = b'{"status":"unavailable"}'


class Health:
    """Answers the two probes. They are open to everybody and tell nothing but this."""

    def __init__(self, ping: Callable[[], Awaitable[None]]) -> None:
        self._ping = ping
        self.is_draining = False
        self.has_failed = False
        """The ledger's writer has ended: this process will not recover."""

    async def alive(self, scope: Scope, receive: Receive, send: Send) -> None:
        """`/healthz`: the event loop turns."""
        await _answer(scope, send, 200, _ALIVE)

    async def ready(self, scope: Scope, receive: Receive, send: Send) -> None:
        """`/readyz`: new requests are wanted and the ledger answers."""
        if self.is_draining:
            await _answer(scope, send, 503, _DRAINING)
        elif self.has_failed or not await self._ledger_answers():
            await _answer(scope, send, 503, _DOWN)
        else:
            await _answer(scope, send, 200, _READY)

    async def _ledger_answers(self) -> bool:
        try:
            async with asyncio.timeout(PING_BOUND_S):
                await self._ping()
        except Exception:  # whatever the cause, the probe's answer is the same
            _log.warning("not_ready", exc_info=True)
            return False
        return True


async def _answer(scope: Scope, send: Send, status: int, body: bytes) -> None:
    if scope["method"] not in ("GET", "HEAD"):
        status, body = 405, b""
    headers: Headers = (
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode("ascii")),
    )
    if status == 405:
        headers = (*headers, (b"allow", b"GET, HEAD"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    shown = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": shown})
