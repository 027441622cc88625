"""How much one endpoint may hold open at a time, as the settings say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.switchboard.mcp.agent import Agent
from tests.switchboard.mcp.serving import Surface, serving, until


@pytest_asyncio.fixture
async def narrow(tmp_path: Path) -> AsyncIterator[Surface]:
    async with serving(
        tmp_path, sessions_per_endpoint=2, streams_per_endpoint=1, calls_per_endpoint=1
    ) as served:
        yield served


async def another_session(agent: Agent) -> Agent:
    same = Agent(agent.port, agent.slug, agent.credential)
    await same.initialize()
    return same


async def test_a_session_too_many_ends_the_one_that_was_idle_the_longest(narrow: Surface) -> None:
    first = await narrow.agent()
    narrow.clock.advance(1_000)
    second = await another_session(first)
    narrow.clock.advance(1_000)
    third = await another_session(first)
    assert [(await one.post("ping")).status for one in (first, second, third)] == [404, 200, 200]
    other = await narrow.agent()
    assert (await other.post("ping")).status == 200


async def test_a_stream_too_many_is_refused_and_the_open_one_goes_on(narrow: Surface) -> None:
    first = await narrow.agent()
    second = await another_session(first)
    async with first.stream() as stream:
        refused = await second.verb("GET")
        assert (refused.status, refused.body) == (429, b"")
        assert int(refused.headers["retry-after"]) > 0
        todo_id = await narrow.add()
        assert (await stream.next_message())["params"]["meta"]["todo_id"] == todo_id
    async with (await narrow.agent()).stream():
        pass


async def test_a_call_too_many_is_refused_while_the_running_one_waits_on(narrow: Surface) -> None:
    agent, other = await narrow.agent(), await narrow.agent()
    waiting = asyncio.create_task(agent.done("claim", wait_seconds=25))
    await until(lambda: len(narrow.waiting) == 1)
    refused = await agent.call("list_todos")
    assert (refused.status, refused.body) == (429, b"")
    assert (await other.call("list_todos")).status == 200
    todo_id = await narrow.add()
    assert (await waiting)["id"] == todo_id
    assert (await agent.call("list_todos")).status == 200
