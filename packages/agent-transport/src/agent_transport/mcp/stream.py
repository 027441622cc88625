"""One open notification stream: a small lossy buffer between publishers and a socket.

A publisher never waits. A client that stops reading fills its own buffer and loses frames;
nobody else notices.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable
from typing import Any, Generic, Protocol, TypeVar

import orjson
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY

from agent_transport.mcp.call import EndReason
from agent_transport.mcp.sessions import SessionRecord

C = TypeVar("C")

COMMENT = b": open\n\n"
END_SEND_S = 0.5
"""What a send may still take once its stream is over: an end is due within a second."""
_TAIL = b"}}\n\n"


def notification_frame(method: str, params: dict[str, Any]) -> bytes:
    """A notification as bytes of an event stream. Render once, offer to many streams.

    `params` must not be empty: `stamped` relies on that.
    """
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return b"event: message\ndata: " + orjson.dumps(message) + b"\n\n"


def stamped(frame: bytes, subscription_id: int | str) -> bytes:
    """A `notification_frame` as a subscription's client must get it, naming the subscription.

    Spliced into the rendered bytes, which end with the braces of `params` and of the message:
    the fan-out renders once, whatever eras its streams are of.
    """
    meta = orjson.dumps({SUBSCRIPTION_ID_META_KEY: subscription_id})
    return frame.removesuffix(_TAIL) + b',"_meta":' + meta + _TAIL


class NotificationStream(Generic[C]):
    """The server-to-client stream of one session, from its GET until it ends."""

    __slots__ = (
        "_bound",
        "_buffer",
        "_frames",
        "_wake",
        "caller",
        "ended",
        "opened_at",
        "session",
    )

    def __init__(self, caller: C, session: SessionRecord, *, buffer: int) -> None:
        self.caller = caller
        self.session = session
        self.opened_at = time.monotonic()
        self.ended: EndReason | None = None
        self._buffer = buffer
        self._frames: deque[bytes] = deque()
        self._wake: asyncio.Future[None] | None = None
        self._bound: asyncio.Timeout | None = None

    def offer(self, frame: bytes) -> bool:
        """Take a frame, or lose it: False when the buffer is full or the stream is over."""
        if self.ended is not None or len(self._frames) >= self._buffer:
            return False
        self._frames.append(frame)
        self._rouse()
        return True

    def end(self, reason: EndReason) -> None:
        """Close the stream after what it already took; the first reason wins."""
        if self.ended is None:
            self.ended = reason
            self._rouse()
            if self._bound is not None and not self._bound.expired():
                self._bound.reschedule(asyncio.get_running_loop().time() + END_SEND_S)

    def take_all(self) -> bytes:
        """All waiting frames as one chunk; empty when there is none."""
        chunk = b"".join(self._frames)
        self._frames.clear()
        return chunk

    async def wait(self, timeout_s: float) -> None:
        """Return when there is something to send, the stream ends, or the time is up."""
        if self._frames or self.ended is not None:
            return
        loop = asyncio.get_running_loop()
        wake = self._wake = loop.create_future()
        timer = loop.call_later(timeout_s, self._rouse)
        try:
            await wake
        finally:
            timer.cancel()
            self._wake = None

    async def wait_for_send(self, sending: Awaitable[None], timeout_s: float) -> None:
        """Wait until a chunk was handed to the socket; not for long once the stream is over.

        Raises:
            TimeoutError: the client does not read.
        """
        try:
            async with asyncio.timeout(timeout_s) as self._bound:
                await sending
        finally:
            self._bound = None

    def _rouse(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)


class CarrierObserver(Protocol):
    """Who wants to know which streams are open. Called on the event loop; must not raise."""

    def stream_opened(self, stream: NotificationStream[Any]) -> None:
        """A stream can take frames from now on."""
        ...

    def stream_closed(self, stream: NotificationStream[Any]) -> None:
        """A stream is over; told exactly once for each one opened."""
        ...
