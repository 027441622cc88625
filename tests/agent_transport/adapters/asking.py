"""One caller of a session that an adapter made."""

from __future__ import annotations

import asyncio
import itertools

from agent_transport.session import McpTransportSession
from agent_transport.testing import ManualCancel

BOUND_S = 20.0
_drivers = map("driver-{}".format, itertools.count(1))


async def ask(session: McpTransportSession, prompt: str, cancel: ManualCancel | None = None) -> str:
    """The response to one prompt."""
    cancel = cancel or ManualCancel()
    turn = await session.submit(prompt, driver_id=next(_drivers), cancel=cancel)
    async with asyncio.timeout(BOUND_S):
        return (await turn.completed).response
