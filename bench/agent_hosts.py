"""Hosts of one agent to compare, each with the same echo: `python -m bench.agent_hosts NAME`.

`loopback` is ours, with its bearer; `sdk` is the SDK's stateless transport, which asks for none.
Both answer JSON on uvloop.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import uvloop

from agent_transport.local_session import LocalSession
from agent_transport.local_tool import LocalTool
from agent_transport.mcp import McpLoopbackHost
from agent_transport.permission import Permissions
from agent_transport.session import JsonObject
from bench.peers import serve_app

_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
}


async def _echo(arguments: JsonObject) -> JsonObject:
    return {"text": arguments["text"]}


async def _wait(arguments: JsonObject) -> None:
    """Ends by being cancelled."""
    await asyncio.Event().wait()


async def _answer(prompt: str) -> str:
    return prompt


async def loopback() -> None:
    """Our host around a session of this library, until SIGTERM."""
    tools = [LocalTool("echo", "Echo", _echo, _SCHEMA), LocalTool("wait", "Wait", _wait)]
    session = LocalSession(_answer, tools=tools, permissions=Permissions(default="allow"))
    host = McpLoopbackHost(session)
    listening = await host.start()
    print(json.dumps({"url": listening.url.removesuffix("/mcp"), "token": listening.token}))
    sys.stdout.flush()
    await host.wait_closed()


def sdk_stateless_app() -> Any:
    """The SDK's stateless transport around its low-level server."""
    import mcp_types as types
    from mcp.server import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.applications import Starlette
    from starlette.routing import Mount

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema=_SCHEMA)])

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        said = {"success": True, "result": {"text": (params.arguments or {})["text"]}}
        return types.CallToolResult(content=[types.TextContent(type="text", text=json.dumps(said))])

    server: Server[Any] = Server("echo", on_list_tools=list_tools, on_call_tool=call_tool)
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncGenerator[None]:
        async with manager.run():
            yield

    return Starlette(routes=[Mount("/mcp", manager.handle_request)], lifespan=lifespan)


if __name__ == "__main__":
    if sys.argv[1] == "loopback":
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(loopback())
    else:
        serve_app(sdk_stateless_app())
