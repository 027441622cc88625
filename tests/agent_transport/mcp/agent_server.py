"""An agent server without a wire: one message in, what it is answered with out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from agent_transport.mcp import Call
from agent_transport.mcp.kernel import MessageContext, Runners
from agent_transport.mcp.server import create_agent_mcp_server
from agent_transport.session import McpTransportSession

VERSION = "2025-11-25"
INITIALIZE = {
    "protocolVersion": VERSION,
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "1"},
}


@dataclass(frozen=True)
class Answered:
    """The text of a tool call's one block, and whether it is an error."""

    text: str
    is_error: bool


class Agent:
    """A server of `session`, driven through the SDK's kernel."""

    def __init__(self, server: Server[Any]) -> None:
        self._runners = Runners(server, {})
        self._ids = 0

    @classmethod
    async def of(cls, session: McpTransportSession, **settings: Any) -> Agent:
        return cls(await create_agent_mcp_server(session, **settings))

    def new_call(self) -> Call[str]:
        self._ids += 1
        return Call("caller", None, {}, request_id=self._ids)

    async def ask(
        self, method: str, params: dict[str, Any] | None = None, call: Call[str] | None = None
    ) -> dict[str, Any]:
        """The result of one request; a JSON-RPC error is raised as `MCPError`."""
        call = call or self.new_call()
        context = MessageContext(call, call.request_id, params, None)
        is_first = method == "initialize"
        runner = self._runners.fresh() if is_first else self._runners.stateless(VERSION)
        return await runner.on_request(context, method, params)

    async def list(self) -> list[dict[str, Any]]:
        return (await self.ask("tools/list"))["tools"]

    async def call(
        self, name: str, arguments: Any = None, call: Call[str] | None = None
    ) -> Answered:
        params = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
        result = await self.ask("tools/call", params, call)
        (block,) = result["content"]
        assert block["type"] == "text"
        return Answered(block["text"], result["isError"])


async def error_of(asked: Any) -> types.ErrorData:
    """The JSON-RPC error that a request must be answered with."""
    try:
        result = await asked
    except MCPError as error:
        return error.error
    raise AssertionError(f"answered with {result}")
