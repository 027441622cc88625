"""An agent without an SDK: JSON-RPC in plain HTTP requests, so that every byte is the test's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self

import httpx

BOUND_S = 30.0
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}


def message_of(answer: httpx.Response) -> dict[str, Any]:
    """The JSON-RPC message of an answer, which is an event stream when it took long."""
    if answer.headers["content-type"] != "text/event-stream":
        return answer.json()
    (line,) = [line for line in answer.text.splitlines() if line.startswith("data:")]
    return json.loads(line.removeprefix("data:"))


class Stream:
    """An open notification stream."""

    def __init__(self, answer: httpx.Response) -> None:
        self._lines = answer.aiter_lines()

    async def next_message(self) -> dict[str, Any]:
        """The next JSON-RPC message; comments are skipped."""
        async with asyncio.timeout(BOUND_S):
            async for line in self._lines:
                if line.startswith("data:"):
                    return json.loads(line.removeprefix("data:"))
        raise AssertionError("the stream ended")

    async def ended(self, within_s: float) -> None:
        """Return when the server has closed the stream; fail after `within_s`."""
        async with asyncio.timeout(within_s):
            async for _ in self._lines:
                pass


@dataclass
class RawAgent:
    """One endpoint's client, in one session after `initialize`."""

    url: str
    credential: str
    http: httpx.AsyncClient
    session: str | None = None
    last_id: int = 0

    @classmethod
    @asynccontextmanager
    async def connected(cls, vended: Mapping[str, Any]) -> AsyncGenerator[Self]:
        """An agent with a session, of what a vend revealed."""
        async with httpx.AsyncClient(trust_env=False, timeout=BOUND_S) as http:
            agent = cls(vended["url"], vended["credential"], http)
            await agent.initialize()
            yield agent

    @property
    def headers(self) -> dict[str, str]:
        """What every request carries."""
        headers = {
            "authorization": f"Bearer {self.credential}",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
        }
        return headers | ({"mcp-session-id": self.session} if self.session else {})

    async def post(self, method: str, params: object = None) -> httpx.Response:
        """A request as it is answered."""
        self.last_id += 1
        message: dict[str, object] = {"jsonrpc": "2.0", "id": self.last_id, "method": method}
        message["params"] = params or {}
        return await self.http.post(self.url, json=message, headers=self.headers)

    async def initialize(self) -> dict[str, Any]:
        """Open a session; the result of the handshake."""
        answer = await self.post("initialize", INITIALIZE)
        assert answer.status_code == 200, answer.text
        self.session = answer.headers["mcp-session-id"]
        return answer.json()["result"]

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A tool call that must succeed: its structured result."""
        result = await self.result(tool, **arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    async def result(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A tool call's result, an error included."""
        answer = await self.post("tools/call", {"name": tool, "arguments": arguments})
        assert answer.status_code == 200, (answer.status_code, answer.text)
        return message_of(answer)["result"]

    async def begin(self, tool: str, **arguments: Any) -> asyncio.Task[httpx.Response]:
        """A tool call that is still running: it was taken up before later requests."""
        running = asyncio.create_task(
            self.post("tools/call", {"name": tool, "arguments": arguments})
        )
        # A ping takes the same way through admission and sessions. The call was on that way when
        # the first was answered, so it is past it when the last one is.
        for _ in range(3):
            assert (await self.post("ping")).status_code == 200
        return running

    @asynccontextmanager
    async def stream(self) -> AsyncGenerator[Stream]:
        """The session's notification stream, open."""
        async with self.http.stream("GET", self.url, headers=self.headers) as answer:
            assert answer.status_code == 200
            yield Stream(answer)
