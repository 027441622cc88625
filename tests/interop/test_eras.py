"""Which client is served in which era, what each era is told, and how one falls back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from switchboard.domain.endpoint import CORE_VERBS, Protocol
from tests.agent_transport.mcp.test_modern import VERSION, envelope
from tests.agent_transport.mcp.wire_client import Answer
from tests.switchboard.mcp.agent import Agent
from tests.switchboard.mcp.serving import Surface, serving

SESSION_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
CHANNEL = "claude/channel"


@pytest_asyncio.fixture
async def surface(tmp_path: Path) -> AsyncIterator[Surface]:
    async with serving(tmp_path) as served:
        yield served


async def asked(
    agent: Agent, method: str, params: dict[str, Any] | None = None, client: str = "raw"
) -> Answer:
    """A message of the 2026-07-28 era, and its answer."""
    named = {} if params is None else {"Mcp_Name": str(params["name"])}
    lines = {"MCP_Protocol_Version": VERSION, "Mcp_Method": method} | named
    return await agent.post(method, {**(params or {}), "_meta": envelope(client)}, **lines)


def assert_sent_back_to_a_session(answer: Answer, request_id: int) -> None:
    assert answer.status == 400
    assert answer.json["id"] == request_id
    error = answer.json["error"]
    assert error["code"] == -32022
    assert error["data"] == {"supported": SESSION_VERSIONS, "requested": VERSION}


@pytest.mark.parametrize("name", ["claude-code", "claude-code/2.1.232"])
async def test_a_client_that_is_rung_on_sessions_alone_falls_back_and_is_rung(
    surface: Surface, name: str
) -> None:
    agent = await surface.vend()
    probe = await asked(agent, "server/discover", client=name)
    assert_sent_back_to_a_session(probe, agent.last_id)
    supported = probe.json["error"]["data"]["supported"]
    opened = await agent.initialize(supported[0], client=name)
    assert opened["protocolVersion"] == supported[0]
    assert opened["capabilities"]["experimental"] == {CHANNEL: {}}
    async with agent.stream() as stream:
        todo_id = await surface.add()
        bell = await stream.next_message()
    assert bell["method"] == "notifications/claude/channel"
    assert bell["params"]["meta"]["todo_id"] == todo_id
    await agent.done("claim", id=todo_id)


async def test_any_other_client_is_served_in_the_era_it_speaks(surface: Surface) -> None:
    agent = await surface.vend()
    for name in ("cursor", "a-claude-code-lookalike"):
        assert (await asked(agent, "server/discover", client=name)).status == 200


async def test_an_endpoint_of_sessions_alone_sends_every_client_back_to_one(
    surface: Surface,
) -> None:
    agent = await surface.vend(protocol=Protocol.LEGACY)
    for method in ("server/discover", "tools/list"):
        assert_sent_back_to_a_session(await asked(agent, method), agent.last_id)
    called = await asked(agent, "tools/call", {"name": "claim", "arguments": {}})
    assert_sent_back_to_a_session(called, agent.last_id)
    assert (await agent.initialize())["protocolVersion"] == SESSION_VERSIONS[0]


async def test_discovery_names_tools_alone_and_may_be_kept_by_its_client_alone(
    surface: Surface,
) -> None:
    result = (await asked(await surface.vend(), "server/discover")).json["result"]
    assert result["supportedVersions"] == [VERSION]
    assert result["capabilities"] == {"tools": {}}
    assert result["resultType"] == "complete"
    assert result["cacheScope"] == "private"
    assert result["ttlMs"] >= 0
    assert "claim" in result["instructions"]


async def test_the_list_of_tools_is_the_same_each_time_and_private(surface: Surface) -> None:
    agent = await surface.vend()
    one, two = [(await asked(agent, "tools/list")).json["result"] for _ in range(2)]
    assert one == two
    assert [tool["name"] for tool in one["tools"]] == list(CORE_VERBS)
    assert (one["cacheScope"], one["resultType"]) == ("private", "complete")
    assert one["ttlMs"] >= 0
    assert "nextCursor" not in one


async def test_a_session_hears_nothing_of_what_only_the_new_era_has(surface: Surface) -> None:
    agent = await surface.agent()
    listed = (await agent.post("tools/list")).json["result"]
    called = (await agent.call("claim")).json["result"]
    for result in (listed, called):
        assert not {"resultType", "ttlMs", "cacheScope"} & set(result)
    assert (await agent.post("server/discover")).json["error"]["code"] == -32601


async def test_work_is_done_in_the_new_era_without_a_session(surface: Surface) -> None:
    agent = await surface.vend()
    todo_id = await surface.add()
    claimed = await asked(agent, "tools/call", {"name": "claim", "arguments": {}})
    assert claimed.json["result"]["structuredContent"]["id"] == todo_id
    assert claimed.json["result"]["resultType"] == "complete"
    finishing = {"name": "complete", "arguments": {"id": todo_id}}
    assert (await asked(agent, "tools/call", finishing)).json["result"]["resultType"] == "complete"
    again = await asked(agent, "tools/call", {"name": "heartbeat", "arguments": {"id": todo_id}})
    assert again.json["result"]["isError"] is True
    assert again.json["result"]["resultType"] == "complete"


@pytest.mark.parametrize("version", SESSION_VERSIONS)
async def test_each_session_version_is_agreed_on_and_served(surface: Surface, version: str) -> None:
    agent = await surface.vend()
    assert (await agent.initialize(version))["protocolVersion"] == version
    assert (await agent.done("claim"))["empty"] is True


@pytest.mark.parametrize("version", ["2020-01-01", "2027-01-01", "latest", ""])
async def test_a_version_header_that_names_nothing_known_is_400(
    surface: Surface, version: str
) -> None:
    agent = await surface.agent()
    answer = await agent.post("tools/list", MCP_Protocol_Version=version or " ")
    assert answer.status == 400
    assert answer.json["error"]["code"] == -32022
    assert answer.json["error"]["data"]["requested"] == version
