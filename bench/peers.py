"""Servers to compare with, each with a bare echo: `python -m bench.peers sdk|fastmcp|bare`.

All run on uvicorn with uvloop and httptools and without an access log, as the service does.
They answer JSON: the SDK's default, an event stream for each answer, is 2.7 times slower.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

_ECHO_SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
}


def sdk_app() -> Any:
    """The SDK's own session transport around its low-level server."""
    import mcp_types as types
    from mcp.server import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.applications import Starlette
    from starlette.routing import Mount

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema=_ECHO_SCHEMA)])

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        said = {"text": (params.arguments or {})["text"]}
        text = types.TextContent(type="text", text=json.dumps(said))
        return types.CallToolResult(content=[text], structured_content=said)

    server: Server[Any] = Server("echo", on_list_tools=list_tools, on_call_tool=call_tool)
    manager = StreamableHTTPSessionManager(server, json_response=True)

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncGenerator[None]:
        async with manager.run():
            yield

    return Starlette(routes=[Mount("/mcp", manager.handle_request)], lifespan=lifespan)


def fastmcp_app() -> Any:
    """The framework most servers are written with."""
    from fastmcp import FastMCP

    server = FastMCP("echo")

    def echo(text: str) -> dict[str, str]:
        return {"text": text}

    server.tool(echo)
    return server.http_app(path="/mcp", json_response=True)


def bare_app() -> Any:
    """The floor: the request read as JSON and answered, nothing between."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        asked = json.loads(body)
        said = asked["params"]["arguments"]
        content = [{"type": "text", "text": json.dumps(said)}]
        result = {"content": content, "structuredContent": said}
        answer = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
        length = (b"content-length", str(len(answer)).encode())
        headers = [(b"content-type", b"application/json"), length]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    return app


async def _live(receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


APPS = {"sdk": sdk_app, "fastmcp": fastmcp_app, "bare": bare_app}


class _Announcing(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        assert sockets is not None
        print(json.dumps({"port": sockets[0].getsockname()[1]}), flush=True)


def serve_app(app: Any) -> None:
    """Serve an application on a free port until SIGTERM."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
        ws="none",
    )
    _Announcing(config).run(sockets=[listening])


if __name__ == "__main__":
    serve_app(APPS[sys.argv[1]]())
