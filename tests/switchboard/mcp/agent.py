"""An agent of raw sockets: every byte that the surface gets is the test's."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.agent_transport.mcp.wire_client import (
    BOUND_S,
    Answer,
    exchange,
    read_head,
    request_bytes,
)


def tool_error(answer: Answer) -> dict[str, Any]:
    """The machine-readable part of a tool error; fails when the call succeeded."""
    assert answer.status == 200, (answer.status, answer.body)
    result = answer.json["result"]
    assert result["isError"] is True, result
    assert "structuredContent" not in result
    return result["_meta"]["switchboard/error"]


@dataclass
class Stream:
    """An open notification stream."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    headers: dict[str, str]
    session: str | None = None
    buffer: bytes = b""
    ended: bool = False

    async def next_message(self, within_s: float = BOUND_S) -> dict[str, Any]:
        """The next notification; comments are passed over."""
        async with asyncio.timeout(within_s):
            while True:
                event, found, rest = self.buffer.partition(b"\n\n")
                if not found:
                    assert not self.ended, "the stream ended"
                    await self._more()
                    continue
                self.buffer = rest
                for line in event.split(b"\n"):
                    if line.startswith(b"data: "):
                        return json.loads(line.removeprefix(b"data: "))

    async def until_end(self, within_s: float = BOUND_S) -> bytes:
        """What still came until the server ended the stream."""
        async with asyncio.timeout(within_s):
            while not self.ended:
                await self._more()
        return self.buffer

    def close(self) -> None:
        self.writer.close()

    async def _more(self) -> None:
        try:
            size = int(await self.reader.readline() or b"0", 16)
        except ConnectionResetError:
            size = 0
        if size == 0:
            self.ended = True
            return
        self.buffer += await self.reader.readexactly(size)
        await self.reader.readexactly(2)


@dataclass
class Agent:
    """One endpoint's client. Each request opens a connection of its own."""

    port: int
    slug: str
    credential: str = field(repr=False)
    session: str | None = None
    last_id: int = 0
    address: str | None = None
    """What a trusted proxy would say of the client's address."""

    @property
    def path(self) -> str:
        return f"/mcp/{self.slug}"

    def headers(self, **extra: str) -> dict[str, str]:
        """What every request carries. An empty value leaves the header out."""
        lines = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.credential}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Mcp-Session-Id": self.session or "",
            "X-Forwarded-For": self.address or "",
        } | {name.replace("_", "-"): value for name, value in extra.items()}
        return {name: value for name, value in lines.items() if value}

    def bytes_of(self, method: str, params: object = None, **extra: str) -> bytes:
        """A request as it goes over the wire."""
        self.last_id += 1
        message: dict[str, object] = {"jsonrpc": "2.0", "id": self.last_id, "method": method}
        message["params"] = params or {}
        return request_bytes("POST", json.dumps(message).encode(), self.headers(**extra), self.path)

    def bytes_of_call(self, tool: str, **arguments: Any) -> bytes:
        """A tool call as it goes over the wire."""
        return self.bytes_of("tools/call", {"name": tool, "arguments": arguments})

    async def send(self, raw: bytes) -> Answer:
        """Any bytes, and what is answered."""
        return await exchange(self.port, raw)

    async def post(self, method: str, params: object = None, **extra: str) -> Answer:
        """A request and its answer."""
        return await self.send(self.bytes_of(method, params, **extra))

    async def cancel(self, request_id: int) -> Answer:
        """Tell the server that a request of this session is no longer wanted."""
        message = {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": request_id},
        }
        return await self.send(
            request_bytes("POST", json.dumps(message).encode(), self.headers(), self.path)
        )

    async def verb(self, method: str, **extra: str) -> Answer:
        """A request without a body by another HTTP method."""
        return await self.send(request_bytes(method, b"", self.headers(**extra), self.path))

    async def initialize(
        self, version: str = "2025-11-25", client: str = "raw", **extra: str
    ) -> dict[str, Any]:
        """Open a session; the result of the handshake."""
        params = {
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": client, "version": "1"},
        }
        answer = await self.post("initialize", params, **extra)
        assert answer.status == 200, (answer.status, answer.body)
        self.session = answer.headers["mcp-session-id"]
        return answer.json["result"]

    async def call(self, tool: str, **arguments: Any) -> Answer:
        """A tool call as it is answered."""
        return await self.post("tools/call", {"name": tool, "arguments": arguments})

    async def done(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A tool call that must succeed: its structured result."""
        answer = await self.call(tool, **arguments)
        assert answer.status == 200, (answer.status, answer.body)
        result = answer.json["result"]
        assert "isError" not in result, result
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"]

    async def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A tool call that must be a tool error: its code and the rest."""
        return tool_error(await self.call(tool, **arguments))

    @asynccontextmanager
    async def stream(self) -> AsyncGenerator[Stream]:
        """The session's notification stream, open from its first byte."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request_bytes("GET", b"", self.headers(), self.path))
            status, headers = await read_head(reader)
            assert status == 200, status
            stream = Stream(reader, writer, headers, self.session)
            async with asyncio.timeout(BOUND_S):
                while b": open\n\n" not in stream.buffer:
                    await stream._more()  # pyright: ignore[reportPrivateUsage]
            stream.buffer = b""
            yield stream
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
