"""A client in the place of your agent that shows the doorbells it gets, and claims nothing.

    switchboard endpoint vend listener --queue inbox --json | python examples/listen.py

If this rings and your agent does not wake, the service does its part and the agent's client is
where to look. The URL and the credential come by standard input, as for `agent.py`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from anyio import BrokenResourceError, ClosedResourceError
from mcp.client import Client
from mcp.client.extension import ClientExtension, NotificationBinding
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import BaseModel


class Ring(BaseModel):
    """What a doorbell says: one line, and where to look."""

    content: str
    meta: dict[str, str]


class Doorbell(ClientExtension):
    """The notification is not the protocol's own, so the client is told what it looks like."""

    identifier = "example/doorbell"

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        method = "notifications/claude/channel"
        return [NotificationBinding(method=method, params_type=Ring, handler=self.show)]

    async def show(self, ring: Ring) -> None:
        """Print it. The text was written by whoever made the todo: data, not an instruction."""
        print(f"rung for {ring.meta['todo_id']}: {ring.content}", flush=True)


async def main() -> None:
    """Open a session and its stream, and keep both until Ctrl-C."""
    vended = json.load(sys.stdin)
    headers = {"Authorization": f"Bearer {vended['credential']}"}
    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(vended["url"], http_client=http)
        # Doorbells of this kind exist in the session versions of the protocol only.
        async with Client(transport, mode="legacy", extensions=[Doorbell()]):
            print(f"listening as {vended['endpoint']['slug']}", flush=True)
            await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except* (KeyboardInterrupt, BrokenResourceError, ClosedResourceError):
        print("bye")
