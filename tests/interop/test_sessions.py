"""Sessions of one service, as agents without an SDK see them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.raw_agent import RawAgent, Stream
from tests.service_process import BOUND_S, ServiceProcess, serving


async def rings(service: ServiceProcess, stream: Stream) -> str:
    """Add a todo that must ring this stream; what it was told of."""
    added = await service.add()
    told = await stream.next_message()
    assert told["method"] == "notifications/claude/channel"
    assert told["params"]["meta"]["todo_id"] == added
    return added


async def test_an_agent_that_shakes_hands_again_is_rung_once_and_on_its_new_stream(
    tmp_path: Path,
) -> None:
    async with (
        serving(tmp_path) as service,
        RawAgent.connected(await service.vend()) as agent,
        agent.stream() as old,
    ):
        first = agent.session
        await agent.initialize()
        assert agent.session != first
        async with agent.stream() as new:
            await rings(service, new)
            await rings(service, old)


async def test_the_session_of_another_endpoint_is_one_that_never_was(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        one, two = await service.vend(agent="one"), await service.vend(agent="two")
        async with RawAgent.connected(one) as owner, RawAgent.connected(two) as stranger:
            stranger.session = owner.session
            foreign = await stranger.post("ping")
            stranger.session = "0" * 64
            unknown = await stranger.post("ping")
            assert (foreign.status_code, unknown.status_code) == (404, 404)
            assert without_id(foreign.json()) == without_id(unknown.json())
            assert (await owner.post("ping")).status_code == 200


def without_id(error: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in error.items() if name != "id"}


async def test_the_owner_sees_how_often_a_session_was_rung_for_work_that_it_leaves_alone(
    tmp_path: Path,
) -> None:
    async with (
        serving(tmp_path) as service,
        RawAgent.connected(await service.vend()) as agent,
        agent.stream() as stream,
    ):
        added = await rings(service, stream)
        async with asyncio.timeout(BOUND_S):
            while (todo := await service.todo(added))["rings"] == 0:
                await agent.post("ping")  # the ring is counted once the stream has it
        assert (todo["rings"], todo["attempt"], todo["state"]) == (1, 0, "pending")
        await agent.call("claim", id=added)
        assert (await service.todo(added))["rings"] == 0
