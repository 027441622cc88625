"""An HTTP host under test, and what is sent to it byte by byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from agent_transport.mcp.loopback import LoopbackListening, McpLoopbackHost
from agent_transport.session import McpTransportSession
from tests.agent_transport.mcp.wire_client import BOUND_S, Answer, exchange, read_head

Line = tuple[str, str]

JSON: tuple[Line, ...] = (
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
)


def message(method: str, params: Any = None, request_id: int = 1) -> bytes:
    """One JSON-RPC request."""
    body: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": method,
        "params": params or {},
    }
    return json.dumps(body).encode()


def tool_call(name: str, **arguments: Any) -> bytes:
    return message("tools/call", {"name": name, "arguments": arguments})


LIST = message("tools/list")


def raw(
    lines: Sequence[Line], body: bytes = LIST, *, method: str = "POST", path: str = "/mcp"
) -> bytes:
    """A request with exactly these header lines, and Content-Length unless they have one."""
    named = {name.lower() for name, _ in lines}
    length = [] if "content-length" in named else [("Content-Length", str(len(body)))]
    head = "".join(f"{name}: {value}\r\n" for name, value in [*lines, *length])
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body


async def refusal_of(port: int, request: bytes) -> Answer:
    """The answer to a request that is refused: bare, and the connection ends after it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        status, headers = await read_head(reader)
        async with asyncio.timeout(BOUND_S):
            rest = await reader.read()
    finally:
        writer.close()
    assert (headers["content-length"], headers["connection"], rest) == ("0", "close", b"")
    return Answer(status, headers, rest)


@dataclass(frozen=True)
class Loopback:
    """A running loopback host."""

    host: McpLoopbackHost
    listening: LoopbackListening

    @property
    def port(self) -> int:
        return int(self.listening.url.split(":")[2].split("/")[0])

    def lines(self, **changes: str | None) -> list[Line]:
        """The header lines of a good request; a change of None leaves a line out."""
        good: dict[str, str | None] = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.listening.token}",
            **dict(JSON),
        }
        return [(name, value) for name, value in (good | changes).items() if value is not None]

    async def post(self, body: bytes = LIST) -> Answer:
        return await exchange(self.port, raw(self.lines(), body))

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call."""
        answer = await self.post(tool_call(name, **arguments))
        assert answer.status == 200, answer
        return answer.json["result"]


@asynccontextmanager
async def loopback(session: McpTransportSession, **settings: Any) -> AsyncGenerator[Loopback]:
    host = McpLoopbackHost(session, **settings)
    try:
        yield Loopback(host, await host.start())
    finally:
        await host.stop()
