"""One POST from its parsed body to its answer: plain JSON, or a late switch to an event stream.

The quick call is the hot path: one timer, no task and no queue of its own. The timer makes it a
slow one, with a watcher for the client's disconnect and a second timer, which opens an event
stream (if the client takes one) so that proxies see bytes while the handler works.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, cast

import orjson

from agent_transport.admission.asgi import Message, Receive, Send
from agent_transport.mcp.call import Call, EndReason
from agent_transport.mcp.wire import JSON_TYPE, Headers, respond

WATCH_AFTER_S = 0.02
"""When a call counts as slow. A quick one asks for a disconnect once, before it is answered."""

STREAM_TYPE = (b"content-type", b"text/event-stream")
UNBUFFERED = (b"x-accel-buffering", b"no")


def stream_headers(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Headers of an event stream: never stored, never transformed, never buffered by a proxy."""
    kept = [(name, value) for name, value in headers if name != b"cache-control"]
    return [*kept, STREAM_TYPE, UNBUFFERED, (b"cache-control", b"no-store, no-transform")]


async def is_gone(receive: Receive) -> bool:
    """Whether the client is known to be gone, without waiting.

    Drives `receive` to its first suspension by hand: a server that knows of a disconnect
    returns it at once, any other one would wait and is let go. A task would cost ten times that.
    """
    step = receive()
    if not isinstance(step, Coroutine):
        return False
    step = cast("Coroutine[Any, None, Message]", step)
    try:
        step.send(None)
    except StopIteration as returned:
        message: Message = returned.value
        return message["type"] == "http.disconnect"
    step.close()
    return False


class Exchange:
    """The answer side of one POST. Used by one request task; timers run on its loop."""

    __slots__ = (
        "_call",
        "_comment_every_s",
        "_headers",
        "_lock",
        "_receive",
        "_send",
        "_send_timeout_s",
        "_stream_after_s",
        "_streaming",
        "_takes_stream",
        "_tasks",
        "_timer",
        "disconnect_cancels",
    )

    def __init__(
        self,
        call: Call[Any],
        receive: Receive,
        send: Send,
        headers: Headers,
        *,
        takes_stream: bool,
        stream_after_s: float,
        comment_every_s: float,
        send_timeout_s: float,
        disconnect_cancels: bool,
    ) -> None:
        self._call = call
        self._receive = receive
        self._send = send
        self._headers = headers
        self._takes_stream = takes_stream
        self._stream_after_s = stream_after_s
        self._comment_every_s = comment_every_s
        self._send_timeout_s = send_timeout_s
        self.disconnect_cancels = disconnect_cancels
        self._streaming = False
        self._lock = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        """Set the timer that turns a quick call into a watched, and then a streamed one."""
        self._call.send_frame = self.send_frame if self._takes_stream else None
        self._timer = asyncio.get_running_loop().call_later(WATCH_AFTER_S, self._turns_slow)

    async def end(self) -> None:
        """Stop timers and tasks. Must run before the answer is sent, and on every way out."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)

    async def notify(self, method: str, params: Any) -> None:
        """Send a message that belongs to this request; dropped when there is no stream for it."""
        if not self._takes_stream or self._call.ended.reason is EndReason.DISCONNECTED:
            return
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        await self.send_frame(b"event: message\ndata: " + orjson.dumps(message) + b"\n\n")

    async def send_frame(self, frame: bytes) -> None:
        """Send rendered frames; the first ones make the answer an event stream."""
        async with self._lock, asyncio.timeout(self._send_timeout_s):
            if not self._streaming:
                self._streaming = True
                headers = stream_headers(self._headers)
                await self._send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._send({"type": "http.response.body", "body": frame, "more_body": True})

    async def answer(self, body: bytes, extra: Headers = (), status: int = 200) -> bool:
        """Hand over the answer. False: the client is known to be gone, nothing was handed over."""
        await self.end()
        if self._call.ended.reason is EndReason.DISCONNECTED or await is_gone(self._receive):
            self._call.ended.set(EndReason.DISCONNECTED)
            return False
        if not self._streaming:
            await respond(self._send, status, body, [*self._headers, JSON_TYPE, *extra])
            return True
        try:
            await self.send_frame(b"event: message\ndata: " + body + b"\n\n")
        except TimeoutError:
            # The client stopped reading. Its stream was begun, so the call counts as answered.
            return True
        await self._send({"type": "http.response.body", "body": b""})
        return True

    async def close_stream(self) -> bool:
        """End an event stream without an answer; False when none was begun."""
        await self.end()
        if self._streaming:
            await self._send({"type": "http.response.body", "body": b""})
        return self._streaming

    def _turns_slow(self) -> None:
        self._timer = None
        self._spawn(self._watch)
        if self._takes_stream:
            left_s = max(0.0, self._stream_after_s - WATCH_AFTER_S)
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(left_s, self._spawn, self._comment)

    def _spawn(self, work: Any) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(work()))

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if self.disconnect_cancels:
            self._call.cancel(EndReason.DISCONNECTED)
        else:
            self._call.ended.set(EndReason.DISCONNECTED)

    async def _comment(self) -> None:
        while True:
            await self.send_frame(b": working\n\n")
            await asyncio.sleep(self._comment_every_s)
