"""What streams hear, as short words for tests of doorbells."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from tests.switchboard.mcp.agent import Agent, Stream
from tests.switchboard.mcp.serving import Surface


async def heard(stream: Stream) -> str:
    """The id of the next todo that this stream is rung for."""
    return (await stream.next_message())["params"]["meta"]["todo_id"]


async def content(stream: Stream) -> str:
    """The text of the next ring."""
    return (await stream.next_message())["params"]["content"]


async def assert_silent(surface: Surface, *streams: Stream) -> None:
    """Nothing but a marker that is sent now comes next on each of these streams."""
    await surface.settled()
    for stream in streams:
        assert stream.buffer == b""
    surface.clock.advance(10_000)
    marker = await surface.add("the marker")
    for stream in streams:
        assert await heard(stream) == marker
    await surface.todos.cancel(surface.ledger.workspace_id, marker, surface.ledger.owner)


@asynccontextmanager
async def streams_of(*agents: Agent) -> AsyncGenerator[list[Stream]]:
    """A stream of each agent, in order."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(agent.stream()) for agent in agents]
