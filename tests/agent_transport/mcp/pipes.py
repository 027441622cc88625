"""A client at the other end of two pipes, in the same process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from agent_transport.mcp.lines import LineReader
from agent_transport.mcp.standard_streams import Wire
from tests.agent_transport.mcp.agent_server import INITIALIZE
from tests.agent_transport.mcp.wire_client import BOUND_S


@dataclass
class PipePeer:
    """Holds all four ends; `wire` is what a transport is given."""

    wire: Wire
    to_transport: int
    from_transport: int
    is_gone: bool = False
    _reader: LineReader | None = None
    _kept: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])

    def send(self, line: bytes) -> None:
        """One line; a pipe takes 64 KiB before anybody reads."""
        os.write(self.to_transport, line + b"\n")

    def ask(self, method: str, params: Any = None, *, request_id: int) -> None:
        """Send a request; its answer can be taken at any later time."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}
        self.send(json.dumps(message | {"params": params or {}}).encode())

    def tell(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}).encode())

    async def next_line(self) -> bytes | None:
        """What the transport wrote next; None when it closed its end."""
        if self._reader is None:
            self._reader = LineReader(self.from_transport)
            self._reader.open()
        async with asyncio.timeout(BOUND_S):
            return await self._reader.line()

    async def answer(self, request_id: int) -> dict[str, Any]:
        """The answer to one request, whichever others come before it."""
        while request_id not in self._kept:
            line = await self.next_line()
            assert line is not None, "it closed its end"
            message = json.loads(line)
            self._kept[message["id"]] = message
        return self._kept.pop(request_id)

    async def open_session(self) -> dict[str, Any]:
        """The handshake of the session eras, under id 1."""
        self.ask("initialize", INITIALIZE, request_id=1)
        opened = await self.answer(1)
        self.tell("notifications/initialized")
        return opened["result"]

    def call(self, name: str, *, request_id: int, **arguments: Any) -> None:
        """Ask for a tool."""
        self.ask("tools/call", {"name": name, "arguments": arguments}, request_id=request_id)

    def leave(self) -> None:
        """Close the end that is written to; the transport reads an end."""
        self.is_gone = True
        os.close(self.to_transport)
        self.to_transport = -1

    def stop_reading(self) -> None:
        """Close the end that is read from."""
        self._close_reader()
        self.is_gone = True
        os.close(self.from_transport)
        self.from_transport = -1

    def close(self) -> None:
        """Close whatever is open."""
        self._close_reader()
        for fd in (
            *(self.wire.inbound, self.wire.outbound),
            self.to_transport,
            self.from_transport,
        ):
            with contextlib.suppress(OSError):
                if fd >= 0:
                    os.close(fd)

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


@contextmanager
def pipe_peer() -> Generator[PipePeer]:
    """Two pipes until the block ends."""
    inbound, to_transport = os.pipe()
    from_transport, outbound = os.pipe()
    peer = PipePeer(Wire(inbound, outbound), to_transport, from_transport)
    try:
        yield peer
    finally:
        peer.close()
