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
from dataclasses import replace
from functools import partial
from typing import Any, Generic, TypeVar

from mcp.server import Server
from mcp.server.runner import ServerRunner
from mcp.shared.exceptions import MCPError
from mcp_types import HEADER_MISMATCH, INVALID_REQUEST, PARSE_ERROR
from mcp_types.version import LATEST_HANDSHAKE_VERSION

from agent_transport.admission.asgi import Receive, Scope, Send
from agent_transport.admission.body_limit import BodyFault, body_refusal, read_body
from agent_transport.admission.decision import Reason, Refusal
from agent_transport.mcp.call import Call, CallEnded, EndReason
from agent_transport.mcp.calls import CREDENTIAL_GONE, RunningCalls
from agent_transport.mcp.exchange import Exchange
from agent_transport.mcp.kernel import MessageContext, Runners, error_of
from agent_transport.mcp.limits import CarrierLimits
from agent_transport.mcp.modern import (
    claims_modern,
    client_name,
    is_modern,
    modern_fault,
    status_of,
)
from agent_transport.mcp.request import AdmittedRequest
from agent_transport.mcp.sessions import SessionRecord, SessionStore, negotiated
from agent_transport.mcp.stream import CarrierObserver
from agent_transport.mcp.streams import OpenStreams
from agent_transport.mcp.undo import Undoing
from agent_transport.mcp.wire import (
    REQUEST_CANCELLED,
    Fault,
    Headers,
    Inbound,
    error_body,
    parse_message,
    result_body,
    shape_fault,
    unsupported_version,
)

_log = logging.getLogger(__name__)
C = TypeVar("C")

CALLS_BACK_S = 1.0
"""Retry-After of a call too many: another one may be over at any moment."""
_SESSION_ENDED = Fault(404, INVALID_REQUEST, "Session not found: send initialize again")
_SESSION_MISSING = Fault(400, INVALID_REQUEST, "Mcp-Session-Id header is missing")
_VERSION_MISSING = Fault(400, HEADER_MISMATCH, "MCP-Protocol-Version header is missing")


class _SessionNotOpened(Exception):
    """The store did not take a session whose handshake had succeeded."""


class McpHttpCarrier(Generic[C]):
    """Serves one SDK `Server` to many admitted callers.

    `key` groups what ends together: `end(key, …)` closes the streams and calls of one key.
    `part` names what may end by itself within a key, such as one credential of several.
    `refuse_modern(caller, client_name)` True sends a client of the 2026-07-28 era back to a
    session; None serves both eras to everybody. `bare_refusals` True answers what is no JSON with
    an empty 400, as a gate in front would, and not with a protocol error.
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
        bare_refusals: bool = False,
    ) -> None:
        self._server = server
        self._refuse_modern = refuse_modern
        self._bare_refusals = bare_refusals
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
        request = AdmittedRequest(scope, receive, send, caller, headers)
        method = scope["method"]
        if method == "POST":
            await self._post(request)
        elif self._sessions is None or request.is_modern:
            # The 2026-07-28 era has neither a stream of its own nor a session to end.
            await request.refuse_method(b"POST")
        elif method == "GET":
            await self._get(request)
        elif method == "DELETE":
            await self._delete(request)
        else:
            await request.refuse_method(b"GET, POST, DELETE")

    # POST

    async def _post(self, request: AdmittedRequest[C]) -> None:
        body = await read_body(request.scope, request.receive, self._limits.body_bytes, None)
        if isinstance(body, BodyFault):
            await request.refuse(body_refusal(body))
            return
        inbound = shape_fault(request.lines) or parse_message(body)
        if request.is_modern and not isinstance(inbound, Fault):
            inbound = self._era_fault(request, inbound) or inbound
        if isinstance(inbound, Fault):
            if self._bare_refusals and inbound.code == PARSE_ERROR:
                await request.refuse(Refusal(400, Reason.BODY_MALFORMED))
            else:
                await request.fault(inbound)
            return
        if self._draining:
            await request.unavailable()
            return
        if request.is_modern:
            await self._dispatch(request, inbound, None)
            return
        try:
            record = await self._session_for(request, inbound)
        except Exception:
            _log.exception("session_unreadable")
            await request.unavailable()
            return
        if isinstance(record, Fault) and not self._calls.is_gone(request.caller):
            await request.fault(replace(record, request_id=inbound.request_id))
            return
        await self._dispatch(request, inbound, None if isinstance(record, Fault) else record)

    def _era_fault(self, request: AdmittedRequest[C], inbound: Inbound) -> Fault | None:
        refuses = self._refuse_modern
        if refuses is not None and refuses(request.caller, client_name(inbound)):
            version = request.lines[b"mcp-protocol-version"].decode("latin-1")
            return unsupported_version(version, inbound.request_id)
        return modern_fault(self._server, request.scope["headers"], request.lines, inbound)

    async def _session_for(
        self, request: AdmittedRequest[C], inbound: Inbound
    ) -> SessionRecord | Fault | None:
        """The session a message belongs to; None: none is needed."""
        if self._sessions is None or inbound.method == "initialize":
            return None
        session_id = request.lines.get(b"mcp-session-id")
        if session_id is None:
            return _VERSION_MISSING if claims_modern(inbound) else _SESSION_MISSING
        record = await self._sessions.find(request.caller, session_id.decode("latin-1"))
        return record or _SESSION_ENDED

    async def _dispatch(
        self, request: AdmittedRequest[C], inbound: Inbound, record: SessionRecord | None
    ) -> None:
        if request.is_modern and inbound.request_id is None:
            # This era has no notification that a client could send to any effect.
            await request.accept()
            return
        if self._calls.is_gone(request.caller):
            await request.unauthorized()
            return
        call = Call(
            request.caller,
            record,
            request.lines,
            request_id=inbound.request_id,
            modern=request.is_modern,
        )
        runner = self._runner_for(record, inbound, request.lines)
        if inbound.method is None or inbound.request_id is None:
            await request.accept()
            await self._take_note(call, runner, inbound)
            return
        if not self._calls.begin(call):
            await request.too_many(CALLS_BACK_S)
            return
        try:
            await self._run(request, call, runner, inbound)
        finally:
            self._calls.finish(call)

    async def _take_note(self, call: Call[C], runner: ServerRunner[Any], inbound: Inbound) -> None:
        if inbound.method == "notifications/cancelled":
            self._calls.cancel(call, (inbound.params or {}).get("requestId"))
        elif inbound.method is not None:
            context = MessageContext(call, None, inbound.params, None)
            await runner.on_notify(context, inbound.method, inbound.params)

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
        request: AdmittedRequest[C],
        call: Call[C],
        runner: ServerRunner[Any],
        inbound: Inbound,
    ) -> None:
        exchange = Exchange(
            call,
            request.receive,
            request.send,
            request.headers,
            takes_stream=request.takes_stream,
            stream_after_s=self._limits.late_stream_after_s,
            comment_every_s=self._limits.comment_every_s,
            send_timeout_s=self._limits.send_timeout_s,
            disconnect_cancels=call.modern or self._sessions is None,
        )
        handed_over = False
        try:
            body, extra, status = await self._result(call, runner, inbound, exchange)
            if body is None or call.ended.reason in CREDENTIAL_GONE:
                await self._answer_ended(request, call, exchange)
            else:
                handed_over = await exchange.answer(body, extra, status)
        except _SessionNotOpened:
            _log.exception("session_unreadable")
            if not await exchange.close_stream():
                await request.unavailable()
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
                await self._open(self._sessions, call, record)
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
        except _SessionNotOpened:
            raise
        except Exception as raised:
            error = error_of(raised)
            body = error_body(inbound.request_id, error.code, error.message, error.data)
            return body, (), status_of(error.code) if call.modern else 200
        finally:
            call.task = None

    async def _open(self, sessions: SessionStore[C], call: Call[C], record: SessionRecord) -> None:
        # A client that never hears of its session cannot end it.
        call.undo_if_unsent(partial(sessions.close, call.caller, record.id))
        try:
            await sessions.open(call.caller, record)
        except MCPError:
            raise
        except Exception as failed:
            raise _SessionNotOpened from failed

    async def _answer_ended(
        self, request: AdmittedRequest[C], call: Call[C], exchange: Exchange
    ) -> None:
        reason = call.ended.reason
        if await exchange.close_stream() or reason is EndReason.DISCONNECTED:
            return
        if reason in CREDENTIAL_GONE:
            await request.unauthorized()
        elif reason is EndReason.DRAINED:
            await request.unavailable()
        else:
            body = error_body(call.request_id, REQUEST_CANCELLED, "Request cancelled")
            await request.error(200, body)

    # GET and DELETE

    async def _get(self, request: AdmittedRequest[C]) -> None:
        if not request.takes_stream:
            await request.not_acceptable()
            return
        record = await self._existing(request)
        if record is None:
            return
        if self._draining:
            await request.unavailable()
            return
        await self._streams.serve(record, request)

    async def _delete(self, request: AdmittedRequest[C]) -> None:
        record = await self._existing(request)
        if record is None or self._sessions is None:
            return
        try:
            await self._sessions.close(request.caller, record.id)
        except Exception:
            _log.exception("session_unreadable")
            await request.unavailable()
            return
        self.end_session(self._key(request.caller), record.id)
        await request.gone()

    async def _existing(self, request: AdmittedRequest[C]) -> SessionRecord | None:
        """The session that GET or DELETE names; None after an error was sent."""
        assert self._sessions is not None
        session_id = request.lines.get(b"mcp-session-id")
        if session_id is None:
            await request.fault(_SESSION_MISSING)
            return None
        try:
            record = await self._sessions.find(request.caller, session_id.decode("latin-1"))
        except Exception:
            _log.exception("session_unreadable")
            await request.unavailable()
            return None
        if self._calls.is_gone(request.caller):
            await request.unauthorized()
            return None
        if record is None:
            await request.fault(_SESSION_ENDED)
        return record
