"""One inbound message as a handler sees it, and the signal that its caller is gone.

A handler of the SDK's `Server` finds its `Call` in `ctx.request`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import Any, Generic, TypeVar

from agent_transport.mcp.sessions import SessionRecord

C = TypeVar("C")

Undo = Callable[[], Awaitable[object]]
SendFrame = Callable[[bytes], Awaitable[None]]


class EndReason(StrEnum):
    """Why a call or a stream is over before its time."""

    DISCONNECTED = "disconnected"
    CANCELLED = "cancelled"
    REVOKED = "revoked"
    EXPIRED = "expired"
    DRAINED = "drained"
    REPLACED = "replaced"
    CLOSED = "closed"


class CallEnded(Exception):
    """A handler raises this to stop because `call.ended` is set; the carrier knows the answer."""


class EndSignal:
    """Set at most once, with a reason; the first one wins. Belongs to one event loop."""

    __slots__ = ("_calls", "_waiters", "reason")

    def __init__(self) -> None:
        self.reason: EndReason | None = None
        self._waiters: list[asyncio.Future[EndReason]] = []
        self._calls: list[Callable[[], object]] = []

    def is_set(self) -> bool:
        """Whether the call is over."""
        return self.reason is not None

    def set(self, reason: EndReason) -> None:
        """End the call; later reasons are ignored."""
        if self.reason is not None:
            return
        self.reason = reason
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(reason)
        self._waiters.clear()
        calls, self._calls = self._calls, []
        for call in calls:
            call()

    def on_set(self, call: Callable[[], object]) -> Callable[[], None]:
        """Have `call` run once the call is over, at once if it is; what comes back undoes that."""
        if self.reason is not None:
            call()
            return _nothing
        self._calls.append(call)
        return partial(self._forget, call)

    def _forget(self, call: Callable[[], object]) -> None:
        if call in self._calls:
            self._calls.remove(call)

    async def wait(self) -> EndReason:
        """Return the reason once there is one. May be awaited by several at a time."""
        if self.reason is not None:
            return self.reason
        waiter: asyncio.Future[EndReason] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            return await waiter
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)


def _nothing() -> None:
    return None


class Call(Generic[C]):
    """What a handler may know of the message it answers.

    `session` is None in the modern era and for a carrier without sessions. `headers` has
    lower-case names and, for a repeated header, the last value.
    """

    __slots__ = (
        "caller",
        "ended",
        "headers",
        "modern",
        "request_id",
        "send_frame",
        "session",
        "task",
        "undos",
    )

    def __init__(
        self,
        caller: C,
        session: SessionRecord | None,
        headers: Mapping[bytes, bytes],
        *,
        request_id: int | str | None = None,
        modern: bool = False,
    ) -> None:
        self.caller = caller
        self.session = session
        self.headers = headers
        self.modern = modern
        self.request_id = request_id
        self.ended = EndSignal()
        self.task: asyncio.Task[Any] | None = None
        self.undos: list[Undo] = []
        self.send_frame: SendFrame | None = None
        """Sends rendered frames ahead of the answer; None: the client takes no event stream.

        Raises `TimeoutError` when the client has stopped reading.
        """

    def undo_if_unsent(self, undo: Undo) -> None:
        """Run `undo` if the caller is known to be gone before the answer's first byte left.

        Register it before the change it takes back is asked for: a cancelled handler may leave
        a change behind that was already under way.
        """
        self.undos.append(undo)

    def cancel(self, reason: EndReason) -> None:
        """End the call and stop its handler at its next suspension point."""
        self.ended.set(reason)
        if self.task is not None:
            self.task.cancel()
