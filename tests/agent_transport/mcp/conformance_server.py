"""A tools-only server with the conformance suite's tools, on our carrier, behind our listener."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError

from agent_transport.admission import (
    SECURITY_HEADERS,
    HostRule,
    OriginRule,
    Reason,
    Refusal,
    only_host,
    origin_rule,
    send_refusal,
)
from agent_transport.admission.asgi import Receive, Scope, Send
from agent_transport.listener import Listener
from agent_transport.mcp import McpHttpCarrier
from tests.agent_transport.mcp.conformance_tools import CONTENT, SCHEMAS, listed
from tests.agent_transport.mcp.fixture_server import KEY, MemorySessions

NEEDS_SAMPLING: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}


def make_server() -> Server[Any]:
    """The fixture tools on the SDK's server, with the listening of the 2026-07-28 era."""
    bus = InMemorySubscriptionBus()

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": listed()})

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name == "test_tool_with_progress":
            for done in (0, 50, 100):
                await ctx.session.report_progress(done, 100)
        elif params.name == "test_trigger_tool_change":
            await bus.publish(ToolsListChanged())
        return _answer(params.name)

    server: Server[Any] = Server(
        "conformance-fixture",
        version="1",
        cache_hints={"tools/list": CacheHint(0, "private")},
        get_tool_input_schema=SCHEMAS.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_subscriptions_listen=ListenHandler(bus),
    )
    server.middleware.clear()
    return server


def _answer(tool: str) -> types.CallToolResult:
    if tool == "test_error_handling":
        told = {"type": "text", "text": "This tool intentionally returns an error for testing"}
        return _result({"content": [told], "isError": True})
    if tool == "test_missing_capability":
        message = "This tool needs sampling"
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, message, NEEDS_SAMPLING)
    if tool not in CONTENT:
        raise MCPError(types.INVALID_PARAMS, "Unknown tool")
    return _result({"content": CONTENT[tool]})


def _result(fields: dict[str, Any]) -> types.CallToolResult:
    return types.CallToolResult.model_validate(fields)


class GuardedCarrier:
    """The carrier behind the Host and Origin rules, as the service has it in front."""

    def __init__(self, carrier: McpHttpCarrier[str]) -> None:
        self._carrier = carrier
        self.host = HostRule(frozenset())
        self.origin = OriginRule(frozenset())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif not self.host.admits(scope["headers"]):
            await send_refusal(send, Refusal(403, Reason.HOST))
        elif not self.origin.admits(scope["headers"]):
            await send_refusal(send, Refusal(403, Reason.ORIGIN))
        else:
            await self._carrier.serve(scope, receive, send, caller=KEY, headers=SECURITY_HEADERS)

    async def drain(self) -> None:
        """End what would stay open for ever."""
        self._carrier.drain()

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await self._carrier.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._carrier.stop()
        await send({"type": "lifespan.shutdown.complete"})


@asynccontextmanager
async def serving() -> AsyncGenerator[str]:
    """The URL of the fixture until the block ends."""
    carrier: McpHttpCarrier[str] = McpHttpCarrier(
        make_server(), sessions=MemorySessions(), key=lambda caller: caller
    )
    app = GuardedCarrier(carrier)
    async with Listener(app, on_drain=[app.drain]) as listener:
        at = listener.address
        app.host = only_host(at.host, at.port)
        app.origin = origin_rule(f"http://{at.host}:{at.port}")
        yield f"http://{at.host}:{at.port}/mcp"
