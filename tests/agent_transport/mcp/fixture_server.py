"""A small tools-only MCP server on the carrier, served by uvicorn on a free port."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from agent_transport.admission.asgi import Receive, Scope, Send
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
TOOLS = ["echo", "wait", "progress", "break", "undoable"]


@dataclass
class MemorySessions:
    """Session rows in a dict, as another process would find them."""

    rows: dict[str, SessionRecord] = field(default_factory=dict[str, SessionRecord])
    broken: bool = False

    async def open(self, caller: str, record: SessionRecord) -> None:
        self.rows[record.id] = record

    async def find(self, caller: str, session_id: str) -> SessionRecord | None:
        if self.broken:
            raise OSError("disk")
        return self.rows.get(session_id)

    async def close(self, caller: str, session_id: str) -> bool:
        return self.rows.pop(session_id, None) is not None


@dataclass
class Fixture:
    """What a test may look at and touch."""

    port: int
    carrier: McpHttpCarrier[str]
    sessions: MemorySessions
    waiting: asyncio.Event
    opened: asyncio.Queue[NotificationStream[Any]]
    closed: asyncio.Queue[NotificationStream[Any]]
    seen: list[str]
    undone: asyncio.Event
    release: asyncio.Event

    def stream_opened(self, stream: NotificationStream[Any]) -> None:
        self.opened.put_nowait(stream)

    def stream_closed(self, stream: NotificationStream[Any]) -> None:
        self.closed.put_nowait(stream)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


def make_server(fixture: Fixture) -> Server[Any]:
    """Echo, a tool that waits for its end, progress, a tool that breaks, one that can be undone."""

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
            case "wait":
                fixture.waiting.set()
                reason = await call.ended.wait()
                fixture.seen.append(reason)
                if reason is not EndReason.DRAINED:
                    raise CallEnded
                text = "drained"
            case "progress":
                await ctx.session.report_progress(1, 2, "half")
                text = "done"
            case "break":
                raise ValueError("secret inner text")
            case "undoable":

                async def undo() -> None:
                    fixture.undone.set()

                call.undo_if_unsent(undo)
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
    stateless: bool = False,
    refuse_modern: Callable[[str, str | None], bool] | None = None,
) -> AsyncGenerator[Fixture]:
    """Serve the fixture until the block ends."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    fixture = Fixture(
        listening.getsockname()[1],
        None,  # pyright: ignore[reportArgumentType] - set two lines below
        MemorySessions(),
        asyncio.Event(),
        asyncio.Queue(),
        asyncio.Queue(),
        [],
        asyncio.Event(),
        asyncio.Event(),
    )
    fixture.carrier = McpHttpCarrier(
        make_server(fixture),
        sessions=None if stateless else fixture.sessions,
        key=lambda caller: caller,
        observer=fixture,
        limits=limits,
        refuse_modern=refuse_modern,
    )

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await fixture.carrier.serve(
            scope, receive, send, caller=KEY, headers=[(b"cache-control", b"no-store")]
        )

    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="critical"))
    server.config.setup_event_loop = lambda: None  # the test's own loop is running
    await fixture.carrier.start()
    task = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0)
    try:
        yield fixture
    finally:
        fixture.release.set()
        await fixture.carrier.stop()
        server.should_exit = True
        await task
        listening.close()
