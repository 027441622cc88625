"""Transports with one fault each, for the kit to find. But for that they are sound."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from agent_transport.errors import AlreadyStarted, NotAttached
from agent_transport.lifecycle import Lifecycle
from tests.agent_transport.memory_transport import MemoryTransport

Build = Callable[[], MemoryTransport]


class Sound:
    """Passes everything on to a transport that keeps the contract."""

    def __init__(self, it: MemoryTransport) -> None:
        self._it = it
        self._inner: Any = it.transport
        self._attached: list[Any] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.descriptor = self._inner.descriptor
        self.name = self._inner.name

    def attach(self, session: Any) -> None:
        self._attached.append(session)
        self._inner.attach(session)

    async def start(self) -> None:
        await self._inner.start()

    async def stop(self) -> None:
        await self._inner.stop()

    async def wait_closed(self) -> None:
        await self._inner.wait_closed()


class StartsWithoutASession(Sound):
    async def start(self) -> None:
        try:
            await self._inner.start()
        except NotAttached:
            return


class StartReturnsTooEarly(Sound):
    async def start(self) -> None:
        self._tasks.append(asyncio.create_task(self._inner.start()))
        await asyncio.sleep(0)


class StartsTwice(Sound):
    async def start(self) -> None:
        try:
            await self._inner.start()
        except AlreadyStarted:
            return


class ASecondStartEndsTheFirst(Sound):
    async def start(self) -> None:
        try:
            await self._inner.start()
        except AlreadyStarted:
            await self._inner.stop()
            raise


class AttachesAtAnyTime(Sound):
    def attach(self, session: Any) -> None:
        try:
            self._inner.attach(session)
        except AlreadyStarted:
            return


class TheFirstAttachCounts(Sound):
    def attach(self, session: Any) -> None:
        if not self._attached:
            super().attach(session)


class StopsOnce(Sound):
    _stopped = 0

    async def stop(self) -> None:
        self._stopped += 1
        if self._stopped > 1:
            raise RuntimeError("stopped twice")
        await self._inner.stop()


class StopHangs(Sound):
    async def stop(self) -> None:
        await asyncio.Event().wait()


class StopDoesNothing(Sound):
    async def stop(self) -> None: ...


class KeepsItsSession(Sound):
    async def stop(self) -> None:
        await self._inner.stop()
        if self._attached:
            self._inner.attach(self._attached[-1])


class StopLosesAgainstStart(Sound):
    _is_starting = False

    async def start(self) -> None:
        self._is_starting = True
        try:
            await self._inner.start()
        finally:
            self._is_starting = False

    async def stop(self) -> None:
        if not self._is_starting:
            await self._inner.stop()


class ACancelledStartGoesOn(Sound):
    async def start(self) -> None:
        self._tasks.append(asyncio.ensure_future(self._inner.start()))
        await asyncio.shield(self._tasks[-1])


class ClosedBeforeItsTime(Sound):
    async def wait_closed(self) -> None: ...


class NeverClosed(Sound):
    async def wait_closed(self) -> None:
        await asyncio.Event().wait()


def built(kind: type[Sound]) -> Build:
    """A transport of this kind, and everything around it."""

    def build() -> MemoryTransport:
        it: Any = MemoryTransport()
        it.transport = kind(it)
        return it

    return build


def without_a_bound() -> MemoryTransport:
    """One whose start waits for ever."""

    async def for_ever(seconds: float) -> None:
        await asyncio.Event().wait()

    it = MemoryTransport()
    lifecycle: Any = Lifecycle(it._open, sleep=for_ever)  # pyright: ignore[reportPrivateUsage]  # the same service
    it.lifecycle = lifecycle
    object.__setattr__(it.transport, "_lifecycle", lifecycle)
    return it


def deaf() -> MemoryTransport:
    """One that does not notice when its peer leaves."""
    it = MemoryTransport()
    it.leave = lambda: None
    return it
