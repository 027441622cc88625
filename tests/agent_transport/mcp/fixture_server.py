"""A small tools-only MCP server on the carrier, on the project's own listener."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from agent_transport.admission.asgi import Receive, Scope, Send
from agent_transport.listener import Listener, SocketLimits
from agent_transport.mcp import (
    Call,
    CallEnded,
    CarrierLimits,
    EndReason,
    McpHttpCarrier,
    NotificationStream,
    SessionRecord,
)

KEY = "caller"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
_DEFAULT_LIMITS = SocketLimits()
TOOLS = ["echo", "version", "wait", "progress", "break", "undoable"]


def _set_event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass
class MemorySessions:
    """Session rows in a dict, as another process would find them."""

    rows: dict[str, SessionRecord] = field(default_factory=dict[str, SessionRecord])
    broken: bool = False
    opening: asyncio.Event = field(default_factory=asyncio.Event)
    may_open: asyncio.Event = field(default_factory=_set_event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def open(self, caller: str, record: SessionRecord) -> None:
        if self.broken:
            raise OSError("disk")
        self.opening.set()
        await self.may_open.wait()
        self.rows[record.id] = record

    async def find(self, caller: str, session_id: str) -> SessionRecord | None:
        if self.broken:
            raise OSError("disk")
        return self.rows.get(session_id)

    async def close(self, caller: str, session_id: str) -> bool:
        self.closed.set()
        return self.rows.pop(session_id, None) is not None


def _streams() -> asyncio.Queue[NotificationStream[Any]]:
    return asyncio.Queue()


@dataclass
class Fixture:
    """What a test may look at and touch."""

    sessions: MemorySessions
    carrier: McpHttpCarrier[str] = field(init=False)
    listener: Listener = field(init=False)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Queue[NotificationStream[Any]] = field(default_factory=_streams)
    closed: asyncio.Queue[NotificationStream[Any]] = field(default_factory=_streams)
    begun: int = 0
    seen: list[str] = field(default_factory=list[str])
    undone: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)

    def stream_opened(self, stream: NotificationStream[Any]) -> None:
        self.opened.put_nowait(stream)

    def stream_closed(self, stream: NotificationStream[Any]) -> None:
        self.closed.put_nowait(stream)

    @property
    def port(self) -> int:
        return self.listener.address.port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


def make_server(fixture: Fixture) -> Server[Any]:
    """Tools that echo, tell the version, wait for their end, report, break, or can be undone."""

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        schema: dict[str, Any] = {"type": "object"}
        return types.ListToolsResult(
            tools=[types.Tool(name=name, input_schema=schema) for name in TOOLS]
        )

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
        call: Call[str] = ctx.request
        arguments = params.arguments or {}
        match params.name:
            case "echo":
                text = str(arguments.get("text", ""))
            case "version":
                text = ctx.protocol_version
            case "wait":
                fixture.waiting.set()
                reason = await call.ended.wait()
                fixture.seen.append(reason)
                if reason is not EndReason.DRAINED:
                    raise CallEnded
                text = "drained"
            case "progress":
                if arguments.get("after_release"):
                    await fixture.release.wait()
                await ctx.session.report_progress(1, 2, "half")
                text = "done"
            case "break":
                raise ValueError("secret inner text")
            case "undoable":

                async def undo() -> None:
                    fixture.undone.set()

                call.undo_if_unsent(undo)
                fixture.begun += 1
                fixture.waiting.set()
                await fixture.release.wait()
                text = "changed"
            case _:
                raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        return {"content": [{"type": "text", "text": text}], "resultType": "complete"}

    async def listen(
        ctx: Any, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        call: Call[str] = ctx.request
        meta: Any = {SUBSCRIPTION_ID: ctx.request_id}
        honoured = types.SubscriptionsAcknowledgedNotificationParams(
            notifications=params.notifications, _meta=meta
        )
        await ctx.session.send_notification(
            types.SubscriptionsAcknowledgedNotification(params=honoured),
            related_request_id=ctx.request_id,
        )
        fixture.waiting.set()
        try:
            fixture.seen.append(await call.ended.wait())
        except asyncio.CancelledError:
            fixture.undone.set()
            raise
        return types.SubscriptionsListenResult(_meta=meta)

    server: Server[Any] = Server(
        "fixture",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_subscriptions_listen=listen,
    )
    server.middleware.clear()
    return server


@asynccontextmanager
async def serving(
    *,
    limits: CarrierLimits | None = None,
    socket_limits: SocketLimits = _DEFAULT_LIMITS,
    stateless: bool = False,
    refuse_modern: Callable[[str, str | None], bool] | None = None,
) -> AsyncGenerator[Fixture]:
    """Serve the fixture until the block ends."""
    fixture = Fixture(sessions=MemorySessions())
    fixture.carrier = McpHttpCarrier(
        make_server(fixture),
        sessions=None if stateless else fixture.sessions,
        key=lambda caller: caller,
        observer=fixture,
        limits=limits,
        refuse_modern=refuse_modern,
    )

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await _live(fixture.carrier, receive, send)
        return await fixture.carrier.serve(
            scope, receive, send, caller=KEY, headers=[(b"cache-control", b"no-store")]
        )

    async def drain() -> None:
        fixture.carrier.drain()

    fixture.listener = Listener(app, limits=socket_limits, on_drain=[drain])
    async with fixture.listener:
        yield fixture
        fixture.release.set()


async def _live(carrier: McpHttpCarrier[str], receive: Receive, send: Send) -> None:
    await receive()
    await carrier.start()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await carrier.stop()
    await send({"type": "lifespan.shutdown.complete"})
