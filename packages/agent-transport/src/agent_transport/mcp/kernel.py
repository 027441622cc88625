"""The seam to the SDK's kernel: per-message contexts, and runners rebuilt from stored sessions.

Negotiation, dispatch, wire versions and error codes are the SDK's. What we rely on here is
pinned by `tests/agent_transport/mcp/test_kernel_contract.py`.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Protocol

import anyio
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import INTERNAL_ERROR, ErrorData, InitializeRequestParams

from agent_transport.mcp.call import Call
from agent_transport.mcp.modern import modern_runner
from agent_transport.mcp.sessions import SessionRecord
from agent_transport.mcp.wire import Inbound

_log = logging.getLogger(__name__)

MAX_RUNNERS = 4_096
"""Sessions whose runner is kept ready; the others are rebuilt from their record in 50 µs."""

_TRANSPORT = TransportContext(kind="streamable-http", can_send_request=False)


class RequestChannel(Protocol):
    """Where messages that belong to one request go."""

    async def notify(self, method: str, params: Any) -> None:
        """Send, or drop, one notification."""
        ...


class MessageContext:
    """The kernel's view of one inbound message (structurally a `DispatchContext`)."""

    __slots__ = ("_cancel_requested", "_channel", "_token", "message_metadata", "request_id")
    transport = _TRANSPORT
    can_send_request = False

    def __init__(
        self,
        call: Call[Any],
        request_id: int | str | None,
        params: Mapping[str, Any] | None,
        channel: RequestChannel | None,
    ) -> None:
        self.request_id = request_id
        self.message_metadata = ServerMessageMetadata(request_context=call, can_send_request=False)
        self._channel = channel
        self._token = _progress_token(params)
        self._cancel_requested: anyio.Event | None = None

    @property
    def cancel_requested(self) -> anyio.Event:
        """Never set: a cancelled call's handler is cancelled instead."""
        if self._cancel_requested is None:
            self._cancel_requested = anyio.Event()
        return self._cancel_requested

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Requests to the client are not part of this carrier."""
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        """A notification that belongs to this request."""
        if self._channel is not None:
            await self._channel.notify(method, params)

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Progress of this request, if its client asked for it."""
        if self._token is None:
            return
        told = {"total": total, "message": message}
        params = {"progressToken": self._token, "progress": progress}
        params |= {name: value for name, value in told.items() if value is not None}
        await self.notify("notifications/progress", params)


def _progress_token(params: Mapping[str, Any] | None) -> int | str | None:
    meta: Any = params.get("_meta") if params else None
    token: Any = meta.get("progressToken") if isinstance(meta, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return token if isinstance(token, int | str) else None


class _NoStandaloneChannel:
    """A connection's own channel: ours is the notification stream, which the SDK does not drive."""

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        _log.debug("notification_dropped", extra={"method": method})


_NO_CHANNEL = _NoStandaloneChannel()


class Runners:
    """Kernels of sessions, rebuilt from their record when they are not at hand."""

    def __init__(self, server: Server[Any], lifespan_state: Any) -> None:
        self._server = server
        self._lifespan_state = lifespan_state
        self._kept: OrderedDict[str, ServerRunner[Any]] = OrderedDict()

    def fresh(self) -> ServerRunner[Any]:
        """A kernel for a client that has not negotiated yet."""
        return self._runner(Connection.for_loop(_NO_CHANNEL))

    def stateless(self, version: str) -> ServerRunner[Any]:
        """A kernel for one message of a carrier without sessions."""
        connection = Connection.for_loop(_NO_CHANNEL, protocol_version_hint=version)
        connection.initialized.set()
        return self._runner(connection)

    def modern(self, inbound: Inbound) -> ServerRunner[Any]:
        """A kernel for one message of the 2026-07-28 era."""
        return modern_runner(self._server, self._lifespan_state, inbound)

    def of(self, record: SessionRecord) -> ServerRunner[Any]:
        """The kernel of a stored session, as it was after its handshake."""
        runner = self._kept.get(record.id)
        if runner is None:
            runner = self._runner(_negotiated(record))
            self._kept[record.id] = runner
            if len(self._kept) > MAX_RUNNERS:
                self._kept.popitem(last=False)
        return runner

    def forget(self, session_id: str) -> None:
        """Drop the kernel of a session that ended."""
        self._kept.pop(session_id, None)

    def _runner(self, connection: Connection) -> ServerRunner[Any]:
        return ServerRunner(self._server, connection, self._lifespan_state)


def _negotiated(record: SessionRecord) -> Connection:
    connection = Connection.for_loop(
        _NO_CHANNEL, session_id=record.id, protocol_version_hint=record.protocol_version
    )
    connection.client_params = InitializeRequestParams.model_validate(
        {
            "protocolVersion": record.protocol_version,
            "clientInfo": record.client_info,
            "capabilities": record.client_capabilities,
        },
        by_name=False,
    )
    connection.initialized.set()
    return connection


def error_of(raised: Exception) -> ErrorData:
    """A handler's exception as the client sees it; anything unexpected is logged, never told."""
    known = handler_exception_to_error_data(raised)
    if known is not None:
        return known
    _log.error("handler_failed", exc_info=raised)
    return ErrorData(code=INTERNAL_ERROR, message="Internal error")
