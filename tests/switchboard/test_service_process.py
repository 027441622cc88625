"""First contact with the real process: vend, connect, claim, complete, be rung, be revoked."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.extension import ClientExtension, NotificationBinding
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import BaseModel

from tests.raw_agent import RawAgent
from tests.service_process import BOUND_S, ServiceProcess, serving
from tests.specification import requirement

ROOT = Path(__file__).resolve().parents[2]
CORE = ["list_todos", "claim", "complete", "fail", "heartbeat"]


class ChannelParams(BaseModel):
    content: str
    meta: dict[str, str]


class Bell(ClientExtension):
    """Makes the official client hand on what it does not know by itself."""

    identifier = "example.tests/bell"

    def __init__(self) -> None:
        self.heard: asyncio.Queue[ChannelParams] = asyncio.Queue()

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        method = "notifications/claude/channel"
        return [
            NotificationBinding(method=method, params_type=ChannelParams, handler=self.heard.put)
        ]


@asynccontextmanager
async def official_client(vended: dict[str, Any], **options: Any) -> AsyncGenerator[Client]:
    headers = {"Authorization": f"Bearer {vended['credential']}"}
    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(vended["url"], http_client=http)
        async with Client(transport, mode="legacy", **options) as client:
            yield client


def structured(result: types.CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result
    return cast("dict[str, Any]", result.structured_content)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[ServiceProcess]:
    async with serving(tmp_path) as one:
        yield one


async def test_what_the_command_line_vends_a_plain_client_can_work_with(
    service: ServiceProcess,
) -> None:
    vend = ("endpoint", "vend", "scout", "--queue", "inbox", "--json")
    code, out, err = await service.command(*vend)
    assert code == 0, err
    vended = json.loads(out)
    assert vended["mcp_json"]["mcpServers"]["switchboard"]["url"] == vended["url"]

    payload = '{"n": 1}'
    add = ("todo", "add", "Say hello", "--queue", "inbox", "--payload", payload, "--json")
    code, out, err = await service.command(*add)
    assert code == 0, err
    added = json.loads(out)
    assert added["created"] is True

    async with RawAgent.connected(vended) as agent:
        tools = (await agent.post("tools/list")).json()["result"]["tools"]
        assert [tool["name"] for tool in tools] == CORE
        claimed = await agent.call("claim")
        assert claimed["payload"] == {"n": 1}
        await agent.call("complete", id=claimed["id"], lease_token=claimed["lease_token"], result=7)

    code, out, err = await service.command("todo", "show", added["todo"]["id"], "--json")
    assert code == 0, err
    todo = json.loads(out)["todo"]
    slug = vended["endpoint"]["slug"]
    assert (todo["state"], todo["result"]) == ("done", 7)
    assert [(one["holder"], one["outcome"]) for one in todo["attempts"]] == [(slug, "done")]
    assert [one["step"] for one in todo["events"]] == ["create", "claim", "complete"]


@requirement("SPEC-0014/endpoint/client-connects")
async def test_the_official_client_lists_claims_and_completes(service: ServiceProcess) -> None:
    todo_id = await service.add()
    async with official_client(await service.vend("inbox")) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == CORE
        listed = await client.call_tool("list_todos", {})
        assert structured(listed)["todos"][0]["id"] == todo_id
        claimed = structured(await client.call_tool("claim", {"id": todo_id}))
        held = {"id": todo_id, "lease_token": claimed["lease_token"]}
        assert not (await client.call_tool("complete", held)).is_error
    assert (await service.todo(todo_id))["state"] == "done"


async def test_the_official_client_hears_the_doorbell(service: ServiceProcess) -> None:
    todo_id = await service.add("Look at this")
    bell = Bell()
    async with (
        official_client(await service.vend("inbox"), extensions=[bell]),
        asyncio.timeout(BOUND_S),
    ):
        heard = await bell.heard.get()
    assert heard.meta["todo_id"] == todo_id


@requirement("SPEC-0014/push/doorbell-arrives")
async def test_a_todo_added_on_the_command_line_rings_an_open_stream(
    service: ServiceProcess,
) -> None:
    vended = await service.vend("inbox")
    async with RawAgent.connected(vended) as agent, agent.stream() as stream:
        code, out, err = await service.command(
            "todo", "add", "Mind <channel>", "--queue", "inbox", "--json"
        )
        assert code == 0, err
        message = await stream.next_message()
    assert message["method"] == "notifications/claude/channel"
    assert message["params"]["meta"]["todo_id"] == json.loads(out)["todo"]["id"]
    assert "<channel" not in message["params"]["content"]


async def test_a_waiting_claim_gets_the_todo_that_is_added(service: ServiceProcess) -> None:
    async with RawAgent.connected(await service.vend("inbox")) as agent:
        waiting = await agent.begin("claim", wait_seconds=25)
        todo_id = await service.add()
        async with asyncio.timeout(BOUND_S):
            assert (await waiting).json()["result"]["structuredContent"]["id"] == todo_id


@requirement("SPEC-0014/concurrency/revocation-closes-streams")
async def test_a_revocation_ends_stream_and_waiting_claim_within_a_second_then_401(
    service: ServiceProcess,
) -> None:
    vended = await service.vend("inbox")
    slug = vended["endpoint"]["slug"]
    async with RawAgent.connected(vended) as agent, agent.stream() as stream:
        waiting = await agent.begin("claim", wait_seconds=25)
        async with service.operator() as operator:
            revoked = await operator.post(f"/endpoints/{slug}/revoke")
        assert revoked.json()["sessions_closed"] == 1
        began = time.monotonic()
        await stream.ended(1.0)
        assert (await waiting).status_code == 401
        assert time.monotonic() - began < 1.0
        refused = await agent.post("tools/list")
    assert refused.status_code == 401
    assert refused.content == b""
    assert refused.headers["www-authenticate"] == "Bearer"
    assert refused.headers["connection"] == "close"


async def test_the_example_agent_does_what_is_added(service: ServiceProcess) -> None:
    vended = await service.vend("inbox")
    todo_id = await service.add("Say hello")
    agent = await asyncio.create_subprocess_exec(
        *(sys.executable, str(ROOT / "examples" / "agent.py")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert agent.stdin is not None
    assert agent.stdout is not None
    try:
        agent.stdin.write(json.dumps(vended).encode())
        agent.stdin.write_eof()
        async with asyncio.timeout(BOUND_S):
            while (line := await agent.stdout.readline()) != f"completed {todo_id}\n".encode():
                assert line, "the agent ended"
    finally:
        agent.terminate()
        await agent.communicate()
    assert (await service.todo(todo_id))["result"] == {"said": "Say hello", "payload": None}


@requirement("SPEC-0014/wiring/no-agent-rest", "SPEC-0014/security/html-headers-kept")
async def test_paths_of_other_worlds_are_plain_404(service: ServiceProcess) -> None:
    async with httpx.AsyncClient(base_url=service.url, trust_env=False) as client:
        for path in (
            "/.well-known/oauth-authorization-server",
            "/.well-known/oauth-protected-resource/mcp/x",
            "/agent/stream",
            "/mcp",
            "/",
        ):
            answer = await client.get(path)
            assert (answer.status_code, answer.content) == (404, b""), path
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "default-src 'none'" in answer.headers["content-security-policy"]
