"""One agent session for the programs of this machine: 127.0.0.1 and a bearer of one start.

The bearer keeps out other users and other programs of the machine, Host and Origin keep out web
pages. It is worth no more than the machine's own boundary, so nothing else is ever bound.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from agent_transport.admission import (
    Bearer,
    HostRule,
    OriginRule,
    Reason,
    Refusal,
    is_expected,
    mint_bearer,
    only_host,
    origin_rule,
    parse_bearer,
    send_refusal,
)
from agent_transport.admission.asgi import Application, Receive, Scope, Send
from agent_transport.errors import ConfigurationError
from agent_transport.lifecycle import Sleep
from agent_transport.listen_address import ListenAddress, check_address
from agent_transport.listener import SocketLimits
from agent_transport.mcp.catalog import SubmissionTool
from agent_transport.mcp.http_host import Admission, host_lifecycle
from agent_transport.mcp.server import DEFAULT_SUBMISSION, create_agent_mcp_server
from agent_transport.session import McpTransportSession

LOOPBACK = "127.0.0.1"
PATH = "/mcp"
LIMITS = SocketLimits(header_bytes=16 * 1024, header_s=5.0, body_s=15.0, connections=32)

_WRONG_PATH = Refusal(403, Reason.PATH)
_WRONG_HOST = Refusal(403, Reason.HOST)
_WRONG_ORIGIN = Refusal(403, Reason.ORIGIN)
_WRONG_BEARER = Refusal(401, Reason.CREDENTIAL)


@dataclass(frozen=True, slots=True)
class LoopbackListening:
    """Where a host listens, and the bearer that it takes: 64 hexadecimal characters.

    The bearer is for whoever started the host. It belongs in no argument list, log, URL or file
    that others can read; it is kept out of every repr.
    """

    url: str
    token: str = field(repr=False)


class McpLoopbackHost:
    """Serves `session` from `start` to `stop`, once. Belongs to one event loop.

    Raises:
        ConfigurationError: `host` is not 127.0.0.1, or `port` is no port. 0 takes a free one.
    """

    def __init__(
        self,
        session: McpTransportSession,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        submission: SubmissionTool = DEFAULT_SUBMISSION,
        instructions: str | None = None,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        if host != LOOPBACK:
            raise ConfigurationError("host", "must be 127.0.0.1: the bearer is for this machine")
        check_address(host, port)
        self._entropy = entropy
        self._lifecycle = host_lifecycle(
            session,
            partial(create_agent_mcp_server, submission=submission, instructions=instructions),
            self._admit,
            host=host,
            port=port,
            limits=LIMITS,
            sleep=sleep,
        )

    async def start(self) -> LoopbackListening:
        """Check the catalog, bind, and return when requests are served.

        Raises:
            AlreadyStarted: it was started or stopped before.
            CatalogInvalid: the session's catalog cannot be served.
            ListenFailed: the port could not be bound.
            StartTimedOut: the catalog was not told within 15 seconds.
            StoppedWhileStarting: `stop` was called meanwhile.
        """
        return await self._lifecycle.start()

    async def stop(self) -> None:
        """End the calls in flight and the listener. Any number of times, before `start` too.

        Raises:
            CloseFailed: something did not end within 5 seconds.
        """
        await self._lifecycle.stop()

    async def wait_closed(self) -> None:
        """Return when the host has stopped; at once if it was never started."""
        await self._lifecycle.wait_closed()

    def _admit(self, app: Application, address: ListenAddress) -> Admission[LoopbackListening]:
        token = mint_bearer(self._entropy)
        listening = LoopbackListening(f"http://{address.authority}{PATH}", token)
        return Admission(LoopbackGate(app, address, token), listening)


class LoopbackGate:
    """Path, Host, Origin, bearer; each is judged before a byte of the body is read.

    No challenge: a client that has no bearer of this start cannot get one by asking.
    """

    def __init__(self, app: Application, address: ListenAddress, token: str) -> None:
        self._app = app
        self._host: HostRule = only_host(address.host, address.port)
        self._origin: OriginRule = origin_rule(f"http://{address.authority}")
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = self._refuse(scope)
            if refusal is not None:
                return await send_refusal(send, refusal)
        return await self._app(scope, receive, send)

    def _refuse(self, scope: Scope) -> Refusal | None:
        headers = scope["headers"]
        if scope["raw_path"] != PATH.encode() or scope["query_string"]:
            return _WRONG_PATH
        if not self._host.admits(headers):
            return _WRONG_HOST
        if not self._origin.admits(headers):
            return _WRONG_ORIGIN
        bearer = parse_bearer(headers)
        if not isinstance(bearer, Bearer) or not is_expected(bearer, self._token):
            return _WRONG_BEARER
        return None
