"""One agent session beyond this machine: an OAuth resource server that takes verified tokens only.

It listens in plain HTTP behind whatever terminates TLS. Every name that is checked comes from the
public URL, for that is all a client ever sees: the proxy must leave the path and Host alone.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from agent_transport.admission import Authorization, ResourceServerGate
from agent_transport.admission.asgi import Application
from agent_transport.errors import ConfigurationError
from agent_transport.lifecycle import Sleep
from agent_transport.listen_address import ListenAddress, check_address
from agent_transport.listener import SocketLimits
from agent_transport.mcp.catalog import SubmissionTool
from agent_transport.mcp.http_host import Admission, host_lifecycle
from agent_transport.mcp.server import DEFAULT_SUBMISSION, create_agent_mcp_server
from agent_transport.session import McpTransportSession

MAX_CONNECTIONS = 512


@dataclass(frozen=True, slots=True)
class RemoteListening:
    """The URL that clients use, and the address to which the proxy must send them."""

    url: str
    address: ListenAddress


class McpRemoteHost:
    """Serves `session` from `start` to `stop`, once. Belongs to one event loop.

    `authorization` is made by `agent_transport.admission.build_authorization`, which names each
    value that breaks a rule. `clock` gives monotonic seconds, `rand` numbers in [0, 1).

    Raises:
        ConfigurationError: `authorization` is none, `host` is no literal address, or a number is
            out of range.
    """

    def __init__(
        self,
        session: McpTransportSession,
        *,
        authorization: Authorization,
        host: str = "127.0.0.1",
        port: int = 0,
        connections: int = MAX_CONNECTIONS,
        submission: SubmissionTool = DEFAULT_SUBMISSION,
        instructions: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        rand: Callable[[], float] = random.random,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        checked: Any = authorization  # a host without a gate is what a type alone cannot prevent
        if not isinstance(checked, Authorization):
            raise ConfigurationError("authorization", "must come from build_authorization")
        check_address(host, port)
        self._authorization = authorization
        self._clock = clock
        self._rand = rand
        self._lifecycle = host_lifecycle(
            session,
            partial(create_agent_mcp_server, submission=submission, instructions=instructions),
            self._admit,
            host=host,
            port=port,
            limits=SocketLimits(
                header_bytes=16 * 1024, header_s=5.0, body_s=15.0, connections=connections
            ),
            sleep=sleep,
        )

    async def start(self) -> RemoteListening:
        """Check the catalog, bind, and return when requests are served.

        Raises:
            AlreadyStarted: it was started or stopped before.
            CatalogInvalid: the session's catalog cannot be served.
            ListenFailed: the address could not be bound.
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

    def _admit(self, app: Application, address: ListenAddress) -> Admission[RemoteListening]:
        gate = ResourceServerGate(app, self._authorization, clock=self._clock, random=self._rand)
        return Admission(gate, RemoteListening(self._authorization.public_url.text, address))
