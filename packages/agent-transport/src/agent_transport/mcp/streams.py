"""The open notification streams of one carrier, one for each session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from agent_transport.admission.asgi import Receive, Send
from agent_transport.mcp.call import EndReason
from agent_transport.mcp.calls import CREDENTIAL_GONE
from agent_transport.mcp.exchange import stream_headers
from agent_transport.mcp.limits import CarrierLimits
from agent_transport.mcp.request import AdmittedRequest
from agent_transport.mcp.sessions import SessionRecord
from agent_transport.mcp.stream import COMMENT, CarrierObserver, NotificationStream

_log = logging.getLogger(__name__)
C = TypeVar("C")

STREAMS_BACK_S = 5.0
"""Retry-After of a stream too many: streams stay open for long."""


class OpenStreams(Generic[C]):
    """Opens, feeds and ends streams; a session has one, and the newest GET wins."""

    def __init__(
        self,
        key: Callable[[C], Hashable],
        part: Callable[[C], Hashable] | None,
        observer: CarrierObserver | None,
        limits: CarrierLimits,
    ) -> None:
        self._key = key
        self._part = part
        self._observer = observer
        self._limits = limits
        self._open: dict[Hashable, dict[str, NotificationStream[C]]] = {}

    def keys(self) -> tuple[Hashable, ...]:
        """The keys that have a stream open."""
        return tuple(self._open)

    def end(self, key: Hashable, reason: EndReason) -> None:
        """End all streams of `key`."""
        for stream in tuple(self._open.get(key, {}).values()):
            stream.end(reason)

    def end_part(self, key: Hashable, part: Hashable, reason: EndReason) -> None:
        """End the streams of `key` that belong to one part of it."""
        assert self._part is not None, "this carrier was not told of parts"
        for stream in tuple(self._open.get(key, {}).values()):
            if self._part(stream.caller) == part:
                stream.end(reason)

    def end_session(self, key: Hashable, session_id: str) -> None:
        """End the stream of one session, if it has one."""
        stream = self._open.get(key, {}).get(session_id)
        if stream is not None:
            stream.end(EndReason.CLOSED)

    async def serve(self, record: SessionRecord, request: AdmittedRequest[C]) -> None:
        """Hold the stream of one session open until either side ends it."""
        caller, send = request.caller, request.send
        streams = self._open.setdefault(self._key(caller), {})
        if record.id not in streams and len(streams) >= self._limits.streams_per_key:
            await request.too_many(STREAMS_BACK_S)
            return
        stream = NotificationStream(caller, record, buffer=self._limits.stream_buffer)
        replaced = streams.get(record.id)
        if replaced is not None:
            replaced.end(EndReason.REPLACED)
        streams[record.id] = stream
        told = False
        watcher = asyncio.get_running_loop().create_task(_end_when_gone(stream, request.receive))
        headers = stream_headers(request.headers)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": COMMENT, "more_body": True})
            if self._observer is not None:
                self._observer.stream_opened(stream)
                told = True
            await self._pump(stream, send)
        finally:
            stream.end(EndReason.DISCONNECTED)
            watcher.cancel()
            if streams.get(record.id) is stream:
                del streams[record.id]
            key = self._key(caller)
            if not streams and self._open.get(key) is streams:
                del self._open[key]
            if told and self._observer is not None:
                self._observer.stream_closed(stream)
        # Last, for a client that reads nothing lets this wait until its connection is given up.
        await send({"type": "http.response.body", "body": b""})

    async def _pump(self, stream: NotificationStream[C], send: Send) -> None:
        try:
            while True:
                await stream.wait(self._limits.comment_every_s)
                chunk = stream.take_all()
                if stream.ended is not None and (not chunk or stream.ended in CREDENTIAL_GONE):
                    break
                part = {"type": "http.response.body", "body": chunk or COMMENT, "more_body": True}
                await stream.wait_for_send(send(part), self._limits.send_timeout_s)
        except TimeoutError:
            _log.warning("stream_stalled", extra={"session": stream.session.id[:8]})
            stream.end(EndReason.DISCONNECTED)


async def _end_when_gone(stream: NotificationStream[Any], receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.end(EndReason.DISCONNECTED)
