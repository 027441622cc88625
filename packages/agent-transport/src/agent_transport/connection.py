"""One HTTP connection with bounds: uvicorn's httptools protocol, minus its trust in strangers.

Stock behaviour that is replaced here: headers may take for ever and weigh 64 MB, trailers have no
bound at all, a body that nobody wants is read to its end, a bad request is answered with text
ahead of answers that are still due, and a pipelined request hides that the client has gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import IntEnum, auto
from typing import Any, cast

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from agent_transport.framing import (
    TRANSFER_ENCODING_LENGTH,
    UnframedCycle,
    is_unsafe_framing,
    names_other_host,
)
from agent_transport.socket_limits import SocketLimits

_TIMER_SLACK_S = 0.001
"""Timers may fire a clock tick early; without slack that costs a round of re-arming."""

_DRAINING_STALL_S = 1.0
"""What a client that reads nothing is given once the listener stops."""
_VERSIONS = ("1.1", "1.0")
_SLASH = ord("/")


class Phase(IntEnum):
    """Where the request that is being read stands. It says which deadline runs."""

    HEAD = auto()  # from the connection's opening, or a later request's first byte
    BODY = auto()  # the headers are complete, the body is not
    BUSY = auto()  # the request is complete, its answer is not: no deadline of ours
    IDLE = auto()  # answered, and the connection is kept


# Reading a member off an Enum class costs more than the comparison it is for.
_HEAD, _BODY, _BUSY, _IDLE = Phase


class OpenConnections(ServerState):
    """The connections and request tasks of one listener, and a signal for when all are gone."""

    def __init__(self) -> None:
        super().__init__()
        self.all_closed = asyncio.Event()
        self.all_closed.set()


class _HalfClosing(asyncio.Transport):
    """The transport as the request cycle sees it: `close` is left to the connection to decide."""

    def __init__(self, wire: asyncio.Transport, on_close: Callable[[], None]) -> None:
        super().__init__()
        self.wire = wire
        self.closing = False
        self._on_close = on_close
        self.write = wire.write  # bound once: every answer goes through here

    def close(self) -> None:
        if not self.closing:
            self._on_close()

    def abort(self) -> None:
        self.closing = True
        self.wire.abort()

    def is_closing(self) -> bool:
        return self.closing or self.wire.is_closing()

    def pause_reading(self) -> None:
        self.wire.pause_reading()

    def resume_reading(self) -> None:
        self.wire.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.wire.get_extra_info(name, default)


class BoundedConnection(HttpToolsProtocol):
    """A connection that no peer can hold longer, or make heavier, than `limits` allow."""

    def __init__(
        self,
        config: Config,
        state: OpenConnections,
        app_state: dict[str, Any],
        limits: SocketLimits,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__(config, state, app_state, loop)
        self._state = state
        self._limits = limits
        self._wire: _HalfClosing
        self._phase = _HEAD
        self._due_at_s: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_s = 0.0
        self._stall_timer: asyncio.TimerHandle | None = None
        self._chunk_bytes = 0
        self._head_bytes = 0
        self._framing_bytes = 0
        self._got_body = False
        self._is_unread = False
        self._may_keep_alive = True
        self._draining = False
        self._deaf = False
        self._ignored_bytes = 0
        self._running: RequestResponseCycle | None = None

    # --- the wire

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # type: ignore[override]  # uvicorn narrows it
        self._wire = _HalfClosing(cast("asyncio.Transport", transport), self._close)
        if len(self.connections) >= self._limits.connections:
            self._turn_away()
        else:
            super().connection_made(self._wire)
            self._state.all_closed.clear()
            self._expect_within(self._limits.header_s)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wire.closing = True
        self._deaf = True
        self.pipeline.clear()
        self._stop_timer()
        self._stop_stall_timer()
        self._tell_client_gone()
        super().connection_lost(exc)
        if not self.connections:
            self._state.all_closed.set()

    def data_received(self, data: bytes) -> None:
        parser = self.parser
        if self._deaf or parser is None:
            return self._ignore(len(data))
        whole_head = self._phase in (_HEAD, _IDLE)
        self._chunk_bytes, self._got_body = len(data), False
        try:
            parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # No other protocol is spoken here: answer the request, then close.
            self._deaf = True
            self._end_after_answer()
        except httptools.HttpParserError as error:
            return self._refuse(431 if isinstance(error.__context__, _TooHeavy) else 400)
        return self._measure(len(data), whole_head)

    def pause_writing(self) -> None:
        super().pause_writing()
        bound_s = _DRAINING_STALL_S if self._draining else self._limits.stall_s
        self._stall_timer = self.loop.call_later(bound_s, self._give_up)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_stall_timer()

    def shutdown(self) -> None:
        """Close now if no answer is due, else right after it."""
        self._draining = True
        if self._stall_timer is not None:
            # Whoever reads nothing has no part in the grace.
            self._stop_stall_timer()
            self._stall_timer = self.loop.call_later(_DRAINING_STALL_S, self._give_up)
        if self._running is None:
            self._wire.close()
        else:
            self._end_after_answer()

    def _give_up(self) -> None:
        self._wire.abort()

    def _stop_stall_timer(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None

    # --- the parser's events, in their order

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._phase = _HEAD
        self._is_unread = True
        self._due_at_s = None
        self._head_bytes = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        # By length first: this runs for every header of every request.
        if len(name) == TRANSFER_ENCODING_LENGTH and is_unsafe_framing(name, value, self.parser):
            raise _Ambiguous
        # The parser leaves whitespace after a value; RFC 9110 §5.5 excludes it.
        super().on_header(name, value.rstrip(b" \t"))

    def on_headers_complete(self) -> None:
        if self._is_head_too_heavy():
            raise _TooHeavy
        if len(self.pipeline) >= self._limits.pipelined:
            raise _TooMany
        assert self.parser is not None
        version = self.parser.get_http_version()
        if version not in _VERSIONS or (
            self.url[0] != _SLASH and names_other_host(self.url, self.headers)
        ):
            raise _Ambiguous
        super().on_headers_complete()
        if version == "1.0":
            # uvicorn makes the cycle itself, and its task has not run yet.
            self.cycle.__class__ = UnframedCycle
        # Trailers must not join the headers that admission has already judged.
        self.headers = []
        self._phase = _BODY
        self._due_at_s = None
        self._framing_bytes = 0
        # An answer that starts before the body has ended says close, for the rest stays unread.
        self._may_keep_alive = self.cycle.keep_alive
        self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        self._got_body = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._phase = _BUSY
        self._is_unread = False
        self._due_at_s = None
        if not self.cycle.response_started:
            self.cycle.keep_alive = self._may_keep_alive and not self._draining
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        self._running = None
        if self._wire.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
        elif self._phase is _BUSY:
            self._phase = _IDLE
            self._expect_within(self._limits.idle_s)

    # --- weight

    def _measure(self, size: int, whole_head: bool) -> None:
        if self._phase is _HEAD:
            self._head_bytes += size if whole_head else 0
            if self._head_bytes > self._limits.header_bytes:
                return self._refuse(431)
            return self._expect_within(self._limits.header_s, unless_running=True)
        if self._phase is _BODY:
            self._framing_bytes = 0 if self._got_body else self._framing_bytes + size
            if self._framing_bytes > self._limits.header_bytes:
                return self._refuse(431)
            return self._expect_within(self._limits.body_s, unless_running=True)
        return None

    def _is_head_too_heavy(self) -> bool:
        limit = self._limits.header_bytes
        if self._head_bytes + self._chunk_bytes <= limit:
            return False  # the usual case, without touching a header
        weight = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        return weight > limit

    def _ignore(self, size: int) -> None:
        self._ignored_bytes += size
        if self._ignored_bytes > self._limits.linger_bytes and not self._wire.wire.is_closing():
            self._wire.pause_reading()

    # --- time: one lazy timer per connection; a quick request touches no timer at all

    def _expect_within(self, seconds: float, *, unless_running: bool = False) -> None:
        if unless_running and self._due_at_s is not None:
            return
        self._due_at_s = self.loop.time() + seconds
        if self._timer is None or self._timer_at_s > self._due_at_s:
            self._arm(self._due_at_s)

    def _arm(self, at_s: float) -> None:
        self._stop_timer()
        self._timer_at_s = at_s
        self._timer = self.loop.call_at(at_s, self._on_timer)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_timer(self) -> None:
        self._timer = None
        if self._due_at_s is None:
            return
        if self.loop.time() + _TIMER_SLACK_S < self._due_at_s:
            self._arm(self._due_at_s)
        else:
            self._due_at_s = None
            self._expire()

    def _expire(self) -> None:
        if self._wire.closing or not self._is_unread:
            self._wire.abort()
        else:
            self._refuse(408)

    # --- ending

    def _turn_away(self) -> None:
        self.transport = self._wire
        self._deaf = True
        self._write_empty(503)
        self._wire.closing = True
        self._wire.wire.close()

    def _refuse(self, status: int) -> None:
        """End on a request that broke a rule of the wire, after any answer that is still due."""
        self._deaf = True
        running = self._running
        if running is not None and (self._phase is not _BODY or running is not self.cycle):
            return self._end_after_answer()
        if running is None or not running.response_started:
            self._write_empty(status)
        self._tell_client_gone()
        return self._half_close()

    def _end_after_answer(self) -> None:
        self.pipeline.clear()
        self._may_keep_alive = False
        if self._running is not None:
            self._running.keep_alive = False

    def _tell_client_gone(self) -> None:
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()

    def _close(self) -> None:
        """Close; while a request is still on its way, close our half first and linger."""
        if self._is_unread:
            return self._half_close()
        self._wire.closing = True
        self._wire.wire.close()
        # close() waits until the peer has taken what is buffered; that wait is bounded too.
        return self._expect_within(self._limits.idle_s)

    def _half_close(self) -> None:
        self._deaf = True
        self._wire.closing = True
        wire = self._wire.wire
        if wire.is_closing():
            return
        wire.write_eof()
        self.flow.resume_reading()
        self._expect_within(self._limits.linger_s)

    def _write_empty(self, status: int) -> None:
        lines = [STATUS_LINE[status]]
        for name, value in self.server_state.default_headers:
            lines += [name, b": ", value, b"\r\n"]
        lines.append(b"content-length: 0\r\nconnection: close\r\n\r\n")
        self._wire.write(b"".join(lines))


class _TooHeavy(Exception):
    """The headers weigh more than the limit."""


class _Ambiguous(Exception):
    """Another reader could take this request for something else."""


class _TooMany(Exception):
    """Too many requests wait behind the one that is being answered."""
