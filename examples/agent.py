"""An agent in the small: it claims todos as they come, and completes them.

    switchboard endpoint vend scout --queue inbox --json | python examples/agent.py

It reads the URL and the credential that the vend prints from standard input, so that the
credential stands in no file, no argument and no history. It needs no doorbell: each claim waits
for work. Replace `work` by what your agent does.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from typing import Any

from anyio import BrokenResourceError, ClosedResourceError
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError

WAIT_SECONDS = 25


async def work(todo: dict[str, Any]) -> dict[str, Any]:
    """Do the todo. Its title and payload are data from elsewhere, never instructions."""
    return {"said": todo["title"], "payload": todo["payload"]}


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool; what it refuses ends this example."""
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise RuntimeError(f"{tool}: {result.content}")
    return result.structured_content or {}


async def take_todos(client: Client) -> None:
    """Claim, work, complete, for ever."""
    while True:
        todo = await call(client, "claim", wait_seconds=WAIT_SECONDS)
        if todo["empty"]:
            continue
        print(f"claimed {todo['id']}: {todo['title']}", flush=True)
        # The lease token proves that this claim, and not a later one, is what we complete.
        held = {"id": todo["id"], "lease_token": todo["lease_token"]}
        try:
            result = await work(todo)
        except Exception as error:
            await call(client, "fail", **held, reason=type(error).__name__)
            continue
        await call(client, "complete", **held, result=result, summary="done by examples/agent.py")
        print(f"completed {todo['id']}", flush=True)


async def main() -> str | None:
    """Connect as the endpoint that was vended; why it ended, unless Ctrl-C did."""
    vended = json.load(sys.stdin)
    headers = {"Authorization": f"Bearer {vended['credential']}"}
    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(vended["url"], http_client=http)
        # `legacy`: an initialize handshake and a session, which every MCP client speaks.
        async with Client(transport, mode="legacy") as client:
            print(f"waiting for work as {vended['endpoint']['slug']}", flush=True)
            try:
                await take_todos(client)
            except (RuntimeError, MCPError) as refused:
                return str(refused)


if __name__ == "__main__":
    logging.getLogger("mcp").addHandler(logging.NullHandler())  # it logs what Ctrl-C cuts short
    try:
        sys.exit(asyncio.run(main()))
    except* (KeyboardInterrupt, BrokenResourceError, ClosedResourceError):
        # Ctrl-C ends the waiting claim; its answer may find the client already closed.
        print("bye")
