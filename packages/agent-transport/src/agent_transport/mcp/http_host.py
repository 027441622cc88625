"""The life that both HTTP hosts share: catalog, bind, listen; once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mcp.server import Server

from agent_transport.admission.asgi import Application
from agent_transport.lifecycle import SINGLE_USE, Lifecycle, Opened, Sleep
from agent_transport.listen_address import ListenAddress, bind, bound_address
from agent_transport.listener import Listener, SocketLimits
from agent_transport.mcp.endpoint import StatelessEndpoint
from agent_transport.session import McpTransportSession

GRACE_S = 2.0
"""Calls are told that they are over as soon as a host stops; what is left to do is to answer."""

_END_BOUND_S = 0.5
R = TypeVar("R")

BuildServer = Callable[[McpTransportSession], Awaitable[Server[Any]]]


@dataclass(frozen=True, slots=True)
class Admission(Generic[R]):
    """The gate in front of an endpoint, and what the host's start returns."""

    app: Application
    listening: R


def host_lifecycle(
    session: McpTransportSession,
    build: BuildServer,
    admit: Callable[[Application, ListenAddress], Admission[R]],
    *,
    host: str,
    port: int,
    limits: SocketLimits,
    sleep: Sleep,
) -> Lifecycle[McpTransportSession, R]:
    """A lifecycle that serves `session` once, behind what `admit` puts in front of it."""

    @asynccontextmanager
    async def open_host(attached: McpTransportSession) -> AsyncGenerator[Opened[R]]:
        endpoint = StatelessEndpoint(await build(attached))
        with bind(host, port) as bound:
            admission = admit(endpoint, bound_address(bound))
            listener = Listener(
                admission.app,
                sockets=[bound],
                limits=limits,
                on_drain=[endpoint.drain],
                grace_s=GRACE_S,
                end_bound_s=_END_BOUND_S,
            )
            never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            async with listener:
                yield Opened(admission.listening, never)

    lifecycle: Lifecycle[McpTransportSession, R] = Lifecycle(
        open_host, steps=SINGLE_USE, sleep=sleep
    )
    lifecycle.attach(session)
    return lifecycle
