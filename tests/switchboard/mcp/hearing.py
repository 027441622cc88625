"""What streams hear, as short words for tests of doorbells."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from agent_transport.mcp import notification_frame
from tests.switchboard.mcp.agent import Agent, Stream
from tests.switchboard.mcp.serving import Surface

FENCE = notification_frame("fence", {"to": "here"})


async def heard(stream: Stream) -> str:
    """The id of the next todo that this stream is rung for."""
    return (await stream.next_message())["params"]["meta"]["todo_id"]


async def content(stream: Stream) -> str:
    """The text of the next ring."""
    return (await stream.next_message())["params"]["content"]


async def rings(surface: Surface, stream: Stream) -> list[str]:
    """The ids of all todos that a session's stream has been rung for and that were not read yet.

    A frame that is no doorbell goes down the same way behind them: no wait says "nothing came".
    """
    await surface.settled()
    opened = surface.app.bells._open._endpoints.values()  # pyright: ignore[reportPrivateUsage]
    (served,) = (
        one for found in opened for one in found.streams if one.session.id == stream.session
    )
    assert served.offer(FENCE)
    ids: list[str] = []
    while (message := await stream.next_message())["method"] != "fence":
        ids.append(message["params"]["meta"]["todo_id"])
    return ids


async def assert_silent(surface: Surface, *streams: Stream) -> None:
    """None of these streams has been rung, other than was read."""
    for stream in streams:
        assert await rings(surface, stream) == []


@asynccontextmanager
async def streams_of(*agents: Agent) -> AsyncGenerator[list[Stream]]:
    """A stream of each agent, in order."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(agent.stream()) for agent in agents]
