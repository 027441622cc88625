"""An agent with the official MCP client and an open notification stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client import Client
from mcp.client.extension import ClientExtension, NotificationBinding
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from switchboard.demo.happened import DidNotHappen, happened
from switchboard.domain.doorbell import METHOD

TIMEOUT_S = 30.0
"""Longer than the longest silence of an answer or a stream within the story."""


class Ring(BaseModel):
    """What a doorbell carries."""

    content: str
    meta: dict[str, str]


class ToolRefused(DidNotHappen):
    """A tool answered with an error."""

    def __init__(self, tool: str, code: str) -> None:
        super().__init__(f"{tool} was refused: {code}")
        self.code = code


class Bell(ClientExtension):
    """Has the client hand on the doorbell's notification, which is not of the protocol itself."""

    identifier = "switchboard.demo/bell"

    def __init__(self) -> None:
        self.rings: asyncio.Queue[Ring] = asyncio.Queue()

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        """Every ring goes into `rings`."""
        return [NotificationBinding(method=METHOD, params_type=Ring, handler=self.rings.put)]


class Statuses:
    """The status of each HTTP answer: the client makes one and the same error of many."""

    def __init__(self) -> None:
        self.of_streams: asyncio.Queue[int] = asyncio.Queue()
        self.of_last_call: int | None = None

    async def note(self, answer: httpx2.Response) -> None:
        """Hook of the HTTP client."""
        if answer.request.method == "GET":
            self.of_streams.put_nowait(answer.status_code)
        elif answer.request.method == "POST":
            self.of_last_call = answer.status_code


class Agent:
    """One endpoint at work."""

    def __init__(self, client: Client, bell: Bell, statuses: Statuses) -> None:
        self._client = client
        self._bell = bell
        self._statuses = statuses

    async def tools(self) -> list[str]:
        """What it may call."""
        return [tool.name for tool in (await self._client.list_tools()).tools]

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A tool's result.

        Raises:
            ToolRefused: with the error's code.
        """
        result = await self._client.call_tool(tool, arguments)
        if result.is_error:
            error = (result.meta or {}).get("switchboard/error", {})
            raise ToolRefused(tool, error.get("code", "unknown"))
        return result.structured_content or {}

    async def claim_when_rung(self, todo_id: str) -> tuple[Ring, dict[str, Any]]:
        """The ring that told of a todo, and the claim of it.

        A ring may be older than another's claim; then the next one counts.
        """
        while True:
            ring = await self._bell.rings.get()
            if ring.meta.get("todo_id") != todo_id:
                continue
            try:
                return ring, await self.call("claim", id=todo_id)
            except ToolRefused as refused:
                if refused.code != "conflict":
                    raise

    async def refused_call_status(self) -> int | None:
        """The HTTP status of a call that must not be answered."""
        try:
            await self._client.call_tool("list_todos", {})
        except MCPError:
            return self._statuses.of_last_call
        return None

    async def next_stream_status(self) -> int:
        """How the server answers when the client opens its stream, at first or again.

        The client opens it again only when the server has ended it.
        """
        return await self._statuses.of_streams.get()


@asynccontextmanager
async def connected(url: str, credential: str) -> AsyncGenerator[Agent]:
    """An agent in a session, once its notification stream is open."""
    bell, statuses = Bell(), Statuses()
    async with httpx2.AsyncClient(
        headers={"authorization": f"Bearer {credential}"},
        timeout=TIMEOUT_S,
        trust_env=False,
        event_hooks={"response": [statuses.note]},
    ) as http:
        transport = streamable_http_client(url, http_client=http)
        # `legacy`: a session with a stream of its own, which every client speaks today.
        async with Client(transport, mode="legacy", extensions=[bell]) as client:
            agent = Agent(client, bell, statuses)
            status = await agent.next_stream_status()
            happened(status == 200, f"the notification stream opened ({status})")
            yield agent
