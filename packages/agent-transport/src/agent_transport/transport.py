"""The contract of every transport: attach a session, start, stop. And the one object that keeps it.

Frozen, because whoever is handed a transport may run it but not turn it into another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeVar

from agent_transport.lifecycle import Lifecycle

S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class TransportDescriptor:
    """What a transport is. `service`: it runs from start until it is stopped or its peer leaves."""

    name: str
    kind: Literal["service"] = "service"


class TransportAdapter(Protocol[S_contra]):
    """A service that serves one attached session. All methods belong to one event loop."""

    @property
    def name(self) -> str:
        """The same as the descriptor's."""
        ...

    @property
    def descriptor(self) -> TransportDescriptor:
        """What this transport is; never changes."""
        ...

    def attach(self, session: S_contra) -> None:
        """Say what the next start will serve. Before a start the last call counts.

        Raises:
            AlreadyStarted: it is starting, started or stopping.
        """
        ...

    async def start(self) -> None:
        """Check the session, connect, and return when requests can be served.

        Ends by itself within 15 seconds; a stop, and a peer that leaves, end it earlier. However
        it fails, nothing is left running, nothing becomes ready later, and a new start needs a
        new attach.

        Raises:
            NotAttached: no session was attached since the last stop.
            AlreadyStarted: it is starting, started or stopping.
            CatalogInvalid: the session's catalog cannot be served.
            StartTimedOut, StoppedWhileStarting, PeerGone: as their names say.
        """
        ...

    async def stop(self) -> None:
        """End, and return when all has ended. Any number of times, at once too, before start too.

        Raises:
            CloseFailed: something did not end within its bound.
        """
        ...

    async def wait_closed(self) -> None:
        """Return when the present run is over, or the last one was; at once if there was none.

        Raises:
            AgentTransportError: what ended the run, if it was neither a stop nor the peer.
        """
        ...


@dataclass(frozen=True, slots=True)
class ServiceTransport(Generic[S]):
    """A `TransportAdapter` made of a descriptor and a lifecycle."""

    descriptor: TransportDescriptor
    _lifecycle: Lifecycle[S, None] = field(repr=False)

    @property
    def name(self) -> str:
        return self.descriptor.name

    def attach(self, session: S) -> None:
        self._lifecycle.attach(session)

    async def start(self) -> None:
        await self._lifecycle.start()

    async def stop(self) -> None:
        await self._lifecycle.stop()

    async def wait_closed(self) -> None:
        await self._lifecycle.wait_closed()
