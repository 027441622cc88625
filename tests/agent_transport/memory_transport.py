"""A service transport without a wire: what the lifecycle does by itself, nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agent_transport.errors import PeerGone
from agent_transport.lifecycle import START_BOUND_S, Lifecycle, Opened
from agent_transport.testing import FakeClock, FakeSession
from agent_transport.transport import ServiceTransport, TransportDescriptor


class MemoryTransport:
    """Implements `UnderTest`: asks for the catalog, then counts as serving until it ends."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.lifecycle: Lifecycle[FakeSession, None] = Lifecycle(self._open, sleep=self.clock.sleep)
        self.transport = ServiceTransport(TransportDescriptor("memory"), self.lifecycle)
        self.peer_left = asyncio.Event()
        self.open = 0
        self.closing: Exception | None = None
        self.breaks: asyncio.Future[None] | None = None
        self.hanging = FakeSession()

    def session(self) -> FakeSession:
        return FakeSession()

    def hanging_session(self) -> FakeSession:
        self.hanging = FakeSession()
        self.hanging.catalog_gate.clear()
        return self.hanging

    async def until_catalog_asked(self) -> None:
        await self.hanging.catalog_asked.wait()

    async def pass_start_bound(self) -> None:
        await self.clock.until_somebody_sleeps()
        self.clock.advance(START_BOUND_S + 0.001)

    def leave(self) -> None:
        self.peer_left.set()

    async def is_serving(self) -> bool:
        return self.open > 0

    @asynccontextmanager
    async def _open(self, session: FakeSession) -> AsyncGenerator[Opened[None]]:
        catalog = asyncio.ensure_future(session.list_runtime_tools())
        left = asyncio.ensure_future(self.peer_left.wait())
        try:
            await asyncio.wait([catalog, left], return_when=asyncio.FIRST_COMPLETED)
            if left.done():
                raise PeerGone("it left")
        finally:
            for task in (catalog, left):
                task.cancel()
            await asyncio.gather(catalog, left, return_exceptions=True)
        self.open += 1
        try:
            yield Opened(None, self._closed())
        finally:
            self.open -= 1
            if self.closing is not None:
                raise self.closing

    async def _closed(self) -> None:
        if self.breaks is not None:
            return await self.breaks
        await self.peer_left.wait()
        return None
