"""The Streamable HTTP carrier: one ASGI-level object on the SDK's kernel.

It serves what admission has let through. With a session store it speaks the session eras, GET
stream included; without one every POST stands alone and GET and DELETE are 405. A message of the
2026-07-28 era is served by itself, or refused so that its client falls back to a session.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Generic, TypeVar

from mcp.server import Server
from mcp.server.runner import ServerRunner
from mcp_types import INVALID_REQUEST
from mcp_types.version import LATEST_HANDSHAKE_VERSION

from agent_transport.admission.asgi import Receive, Scope, Send
from agent_transport.admission.body_limit import BodyFault, body_refusal, read_body
from agent_transport.admission.decision import Reason, Refusal
from agent_transport.mcp.call import Call, CallEnded, EndReason
from agent_transport.mcp.calls import CREDENTIAL_GONE, RunningCalls
from agent_transport.mcp.exchange import Exchange
from agent_transport.mcp.kernel import MessageContext, Runners, error_of
from agent_transport.mcp.limits import CarrierLimits
from agent_transport.mcp.modern import client_name, is_modern, modern_fault, status_of
from agent_transport.mcp.sessions import SessionRecord, SessionStore, negotiated
from agent_transport.mcp.stream import CarrierObserver
from agent_transport.mcp.streams import OpenStreams
from agent_transport.mcp.undo import Undoing
from agent_transport.mcp.wire import (
    CLOSE,
    JSON_TYPE,
    REQUEST_CANCELLED,
    Fault,
    Headers,
    Inbound,
    accepts,
    error_body,
    id_text,
    parse_message,
    refuse,
    respond,
    result_body,
    send_fault,
    shape_fault,
    unsupported_version,
)

_log = logging.getLogger(__name__)
C = TypeVar("C")

STORE_BACK_S = b"2"
"""Retry-After of a 503: long enough for a lock or a restart, short enough to go unnoticed."""
_UNAUTHORIZED = Refusal(401, Reason.CREDENTIAL, ((b"www-authenticate", b"Bearer"),))
_TOO_MANY = Refusal(429, Reason.THROTTLED, ((b"retry-after", b"1"),))
_SESSION_ENDED = error_body(None, INVALID_REQUEST, "Session not found: send initialize again")
_SESSION_MISSING = error_body(None, INVALID_REQUEST, "Mcp-Session-Id header is missing")


class McpHttpCarrier(Generic[C]):
    """Serves one SDK `Server` to many admitted callers.

    `key` groups what ends together: `end(key, …)` closes the streams and calls of one key.
    `part` names what may end by itself within a key, such as one credential of several.
    `refuse_modern(caller, client_name)` True sends a client of the 2026-07-28 era back to a
    session; None serves both eras to everybody.
    """

    def __init__(
        self,
        server: Server[Any],
        *,
        sessions: SessionStore[C] | None,
        key: Callable[[C], Hashable],
        part: Callable[[C], Hashable] | None = None,
        observer: CarrierObserver | None = None,
        limits: CarrierLimits | None = None,
        refuse_modern: Callable[[C, str | None], bool] | None = None,
    ) -> None:
        self._server = server
        self._refuse_modern = refuse_modern
        self._sessions = sessions
        self._key = key
        self._limits = limits or CarrierLimits()
        self._calls: RunningCalls[C] = RunningCalls(key, part, self._limits.calls_per_key)
        self._streams = OpenStreams(key, part, observer, self._limits)
        self._undoing = Undoing()
        self._draining = False
        self._lifespan = AsyncExitStack()
        self._runners: Runners | None = None

    async def start(self) -> None:
        """Enter the server's lifespan. Must come before the first `serve`."""
        state = await self._lifespan.enter_async_context(self._server.lifespan(self._server))
        self._runners = Runners(self._server, state)

    async def stop(self) -> None:
        """Drain, wait for changes being taken back, leave the lifespan. Safe twice."""
        self.drain()
        await self._undoing.wait()
        await self._lifespan.aclose()

    def drain(self) -> None:
        """End all streams, tell all calls, open nothing new. Safe twice."""
        self._draining = True
        for key in {*self._streams.keys(), *self._calls.keys()}:
            self.end(key, EndReason.DRAINED)

    def end(self, key: Hashable, reason: EndReason) -> None:
        """End what belongs to `key`: streams close, waiting calls are told."""
        self._streams.end(key, reason)
        self._calls.end(key, reason)

    def end_part(self, key: Hashable, part: Hashable, reason: EndReason) -> None:
        """End what belongs to one part of `key`; the rest of it goes on."""
        self._streams.end_part(key, part, reason)
        self._calls.end_part(key, part, reason)

    def end_session(self, key: Hashable, session_id: str) -> None:
        """Close the stream and cancel the calls of one session that ended elsewhere."""
        if self._runners is not None:
            self._runners.forget(session_id)
        self._streams.end_session(key, session_id)
        self._calls.end_session(key, session_id)

    async def serve(
        self, scope: Scope, receive: Receive, send: Send, *, caller: C, headers: Headers = ()
    ) -> None:
        """Answer one admitted HTTP request. `headers` go on every answer, streams included."""
        lines: dict[bytes, bytes] = dict(scope["headers"])
        method = scope["method"]
        if method == "POST":
            await self._post(scope, receive, send, caller, lines, headers)
        elif self._sessions is not None and method == "GET":
            await self._get(receive, send, caller, lines, headers)
        elif self._sessions is not None and method == "DELETE":
            await self._delete(send, caller, lines, headers)
        else:
            allowed = b"POST" if self._sessions is None else b"GET, POST, DELETE"
            await respond(send, 405, b"", [*headers, (b"allow", allowed)])

    # POST

    async def _post(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        caller: C,
        lines: Mapping[bytes, bytes],
        headers: Headers,
    ) -> None:
        body = await read_body(scope, receive, self._limits.body_bytes, None)
        if isinstance(body, BodyFault):
            await refuse(send, body_refusal(body), headers)
            return
        inbound = shape_fault(lines) or parse_message(body)
        modern = is_modern(lines)
        if modern and not isinstance(inbound, Fault):
            inbound = self._era_fault(scope, caller, lines, inbound) or inbound
        if isinstance(inbound, Fault):
            await send_fault(send, inbound, headers)
            return
        if self._draining:
            await self._unavailable(send, headers)
            return
        if modern:
            await self._dispatch(inbound, None, receive, send, caller, lines, headers)
            return
        try:
            record = await self._session_for(caller, lines, inbound)
        except Exception:
            _log.exception("session_unreadable")
            await self._unavailable(send, headers)
            return
        if isinstance(record, bytes) and not self._calls.is_gone(caller):
            status = 400 if record is _SESSION_MISSING else 404
            body_with_id = record.replace(b'"id":null', b'"id":' + id_text(inbound))
            await respond(send, status, body_with_id, [*headers, JSON_TYPE])
            return
        known = None if isinstance(record, bytes) else record
        await self._dispatch(inbound, known, receive, send, caller, lines, headers)

    def _era_fault(
        self, scope: Scope, caller: C, lines: Mapping[bytes, bytes], inbound: Inbound
    ) -> Fault | None:
        refuses = self._refuse_modern
        if refuses is not None and refuses(caller, client_name(inbound)):
            version = lines[b"mcp-protocol-version"].decode("latin-1")
            return unsupported_version(version, inbound.request_id)
        return modern_fault(self._server, scope["headers"], lines, inbound)

    async def _session_for(
        self, caller: C, lines: Mapping[bytes, bytes], inbound: Inbound
    ) -> SessionRecord | bytes | None:
        """The session a message belongs to; bytes: the error body; None: none is needed."""
        if self._sessions is None or inbound.method == "initialize":
            return None
        session_id = lines.get(b"mcp-session-id")
        if session_id is None:
            return _SESSION_MISSING
        record = await self._sessions.find(caller, session_id.decode("latin-1"))
        return record or _SESSION_ENDED

    async def _dispatch(
        self,
        inbound: Inbound,
        record: SessionRecord | None,
        receive: Receive,
        send: Send,
        caller: C,
        lines: Mapping[bytes, bytes],
        headers: Headers,
    ) -> None:
        modern = is_modern(lines)
        if modern and inbound.request_id is None:
            # This era has no notification that a client could send to any effect.
            await respond(send, 202, b"", headers)
            return
        if self._calls.is_gone(caller):
            await refuse(send, _UNAUTHORIZED, headers)
            return
        runner = self._runner_for(record, inbound, lines)
        call = Call(caller, record, lines, request_id=inbound.request_id, modern=modern)
        if inbound.method is None or inbound.request_id is None:
            await respond(send, 202, b"", headers)
            if inbound.method == "notifications/cancelled":
                self._calls.cancel(call, (inbound.params or {}).get("requestId"))
            elif inbound.method is not None:
                context = MessageContext(call, None, inbound.params, None)
                await runner.on_notify(context, inbound.method, inbound.params)
            return
        if not self._calls.begin(call):
            await refuse(send, _TOO_MANY, headers)
            return
        try:
            await self._run(call, runner, inbound, receive, send, headers)
        finally:
            self._calls.finish(call)

    def _runner_for(
        self, record: SessionRecord | None, inbound: Inbound, lines: Mapping[bytes, bytes]
    ) -> ServerRunner[Any]:
        assert self._runners is not None, "start() comes before serve()"
        if record is not None:
            return self._runners.of(record)
        if is_modern(lines):
            return self._runners.modern(inbound)
        if inbound.method == "initialize":
            return self._runners.fresh()
        version = lines.get(b"mcp-protocol-version", LATEST_HANDSHAKE_VERSION.encode())
        return self._runners.stateless(version.decode("ascii"))

    async def _run(
        self,
        call: Call[C],
        runner: ServerRunner[Any],
        inbound: Inbound,
        receive: Receive,
        send: Send,
        headers: Headers,
    ) -> None:
        exchange = Exchange(
            call,
            receive,
            send,
            headers,
            takes_stream=accepts(call.headers.get(b"accept"), b"text/event-stream"),
            stream_after_s=self._limits.late_stream_after_s,
            comment_every_s=self._limits.comment_every_s,
            send_timeout_s=self._limits.send_timeout_s,
            disconnect_cancels=call.modern or self._sessions is None,
        )
        handed_over = False
        try:
            body, extra, status = await self._result(call, runner, inbound, exchange)
            if body is None or call.ended.reason in CREDENTIAL_GONE:
                await self._answer_ended(call, exchange, send, headers)
            else:
                handed_over = await exchange.answer(body, extra, status)
        finally:
            await exchange.end()
            if call.undos and not handed_over:
                self._undoing.begin(call.undos)

    async def _result(
        self, call: Call[C], runner: ServerRunner[Any], inbound: Inbound, exchange: Exchange
    ) -> tuple[bytes | None, Headers, int]:
        """The answer's body, extra headers, status; no body: the call ended before it had one."""
        assert inbound.request_id is not None
        assert inbound.method is not None
        context = MessageContext(call, inbound.request_id, inbound.params, exchange)
        call.task = asyncio.current_task()
        exchange.begin()
        try:
            result = await runner.on_request(context, inbound.method, inbound.params)
            extra: Headers = ()
            if inbound.method == "initialize" and self._sessions is not None:
                record = negotiated(result, inbound.params or {})
                await self._sessions.open(call.caller, record)
                extra = ((b"mcp-session-id", record.id.encode("ascii")),)
            return result_body(inbound.request_id, result), extra, 200
        except asyncio.CancelledError:
            if call.ended.reason not in (EndReason.CANCELLED, EndReason.DISCONNECTED):
                raise
            task = asyncio.current_task()
            if task is None or task.uncancel() > 0:
                raise
            return None, (), 0
        except CallEnded:
            return None, (), 0
        except Exception as raised:
            error = error_of(raised)
            body = error_body(inbound.request_id, error.code, error.message, error.data)
            return body, (), status_of(error.code) if call.modern else 200
        finally:
            call.task = None

    async def _answer_ended(
        self, call: Call[C], exchange: Exchange, send: Send, headers: Headers
    ) -> None:
        reason = call.ended.reason
        if await exchange.close_stream() or reason is EndReason.DISCONNECTED:
            return
        if reason in CREDENTIAL_GONE:
            await refuse(send, _UNAUTHORIZED, headers)
        elif reason is EndReason.DRAINED:
            await self._unavailable(send, headers)
        else:
            body = error_body(call.request_id, REQUEST_CANCELLED, "Request cancelled")
            await respond(send, 200, body, [*headers, JSON_TYPE])

    # GET and DELETE

    async def _get(
        self,
        receive: Receive,
        send: Send,
        caller: C,
        lines: Mapping[bytes, bytes],
        headers: Headers,
    ) -> None:
        if not accepts(lines.get(b"accept"), b"text/event-stream"):
            fault = Fault(406, INVALID_REQUEST, "Not acceptable: accept text/event-stream")
            await send_fault(send, fault, headers)
            return
        record = await self._existing(send, caller, lines, headers)
        if record is None:
            return
        if self._draining:
            await self._unavailable(send, headers)
            return
        await self._streams.serve(record, receive, send, caller, headers)

    async def _delete(
        self, send: Send, caller: C, lines: Mapping[bytes, bytes], headers: Headers
    ) -> None:
        record = await self._existing(send, caller, lines, headers)
        if record is None or self._sessions is None:
            return
        try:
            await self._sessions.close(caller, record.id)
        except Exception:
            _log.exception("session_unreadable")
            await self._unavailable(send, headers)
            return
        self.end_session(self._key(caller), record.id)
        await send({"type": "http.response.start", "status": 204, "headers": list(headers)})
        await send({"type": "http.response.body", "body": b""})

    async def _existing(
        self, send: Send, caller: C, lines: Mapping[bytes, bytes], headers: Headers
    ) -> SessionRecord | None:
        """The session that GET or DELETE names; None after an error was sent."""
        assert self._sessions is not None
        session_id = lines.get(b"mcp-session-id")
        if session_id is None:
            await respond(send, 400, _SESSION_MISSING, [*headers, JSON_TYPE])
            return None
        try:
            record = await self._sessions.find(caller, session_id.decode("latin-1"))
        except Exception:
            _log.exception("session_unreadable")
            await self._unavailable(send, headers)
            return None
        if self._calls.is_gone(caller):
            await refuse(send, _UNAUTHORIZED, headers)
            return None
        if record is None:
            await respond(send, 404, _SESSION_ENDED, [*headers, JSON_TYPE])
        return record

    async def _unavailable(self, send: Send, headers: Headers) -> None:
        await respond(send, 503, b"", [*headers, (b"retry-after", STORE_BACK_S), CLOSE])
