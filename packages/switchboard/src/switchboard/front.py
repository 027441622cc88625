"""The outermost application: which surface a path belongs to, and the headers of every answer.

Plain prefix checks: a routing table would cost the agents' path more than their admission does.
"""

from __future__ import annotations

from collections.abc import Awaitable

from agent_transport.admission import SECURITY_HEADERS, Headers, send_empty
from agent_transport.admission.asgi import Application, Message, Receive, Scope, Send
from switchboard.request_scope import begin_request

PAGE_HEADERS: Headers = (
    (
        b"content-security-policy",
        b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)
"""No answer of this service may run, embed or be embedded, whatever a browser makes of it."""

_ALL_HEADERS: Headers = (*SECURITY_HEADERS, *PAGE_HEADERS)


class Front:
    """Hands each request to the surface it belongs to; everything else is a plain 404.

    That includes `/.well-known/oauth-*`: a client that finds metadata there drops its bearer.
    """

    def __init__(
        self, *, agents: Application, api: Application, alive: Application, ready: Application
    ) -> None:
        self._agents = agents
        self._api = api
        self._probes = {"/healthz": alive, "/readyz": ready}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _accept_lifespan(receive, send)
            return
        begin_request()
        path: str = scope["path"]
        if path.startswith("/mcp/"):
            # The agents' surface puts the other two on its answers itself.
            await self._agents(scope, receive, _adding(PAGE_HEADERS, send))
        elif path.startswith("/api/v1/"):
            await self._api(scope, receive, _adding(_ALL_HEADERS, send))
        elif path in self._probes:
            await self._probes[path](scope, receive, _adding(_ALL_HEADERS, send))
        else:
            await send_empty(send, 404, _ALL_HEADERS)


def _adding(headers: Headers, send: Send) -> Send:
    def sending(message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *headers]
        return send(message)

    return sending


async def _accept_lifespan(receive: Receive, send: Send) -> None:
    """The parts are started before the listener and stopped after it: nothing is done here."""
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})
