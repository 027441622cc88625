"""A client of raw sockets: what it sends is exactly what the test says."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

BOUND_S = 10.0


@dataclass
class Answer:
    """One HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def request_bytes(
    method: str, body: bytes = b"", headers: dict[str, str] | None = None, path: str = "/mcp"
) -> bytes:
    lines = {"Host": "127.0.0.1", "Content-Length": str(len(body)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


async def read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    async with asyncio.timeout(BOUND_S):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *rest = head.strip().split("\r\n")
    pairs = (line.split(":", 1) for line in rest)
    return int(first.split(" ")[1]), {name.lower(): value.strip() for name, value in pairs}


async def exchange(port: int, raw: bytes) -> Answer:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(raw)
        status, headers = await read_head(reader)
        async with asyncio.timeout(BOUND_S):
            if "content-length" in headers:
                body = await reader.readexactly(int(headers["content-length"]))
            elif status == 204:
                body = b""
            else:
                body = await read_chunked(reader)
        return Answer(status, headers, body)
    finally:
        writer.close()


async def read_chunked(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while True:
        size = int(await reader.readline(), 16)
        chunk = await reader.readexactly(size)
        await reader.readline()
        if not size:
            return body
        body += chunk


@dataclass
class Client:
    """Posts JSON-RPC in one session."""

    port: int
    session: str | None = None
    next_id: int = 0

    def headers(self, **extra: str) -> dict[str, str]:
        base = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if self.session is not None:
            base["Mcp-Session-Id"] = self.session
        return base | extra

    def raw(self, method: str, params: Any = None, request_id: Any = None) -> bytes:
        self.next_id += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        message["id"] = self.next_id if request_id is None else request_id
        if params is not None:
            message["params"] = params
        return request_bytes("POST", json.dumps(message).encode(), self.headers())

    async def post(self, method: str, params: Any = None, request_id: Any = None) -> Answer:
        return await exchange(self.port, self.raw(method, params, request_id))

    async def notify(self, method: str, params: Any = None) -> Answer:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        raw = request_bytes("POST", json.dumps(message).encode(), self.headers())
        return await exchange(self.port, raw)

    async def initialize(self, version: str = "2025-11-25") -> Answer:
        answer = await self.post(
            "initialize",
            {
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        )
        self.session = answer.headers.get("mcp-session-id")
        return answer

    async def call(self, tool: str, request_id: Any = None, **arguments: Any) -> Answer:
        return await self.post("tools/call", {"name": tool, "arguments": arguments}, request_id)

    async def open_stream(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request_bytes("GET", b"", self.headers(Accept="text/event-stream")))
        status, _ = await read_head(reader)
        assert status == 200
        return reader, writer


async def until_eof(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(BOUND_S):
        return await read_chunked(reader)
