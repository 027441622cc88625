"""The official Python SDK's client against a running service, in each way it can connect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client, ClientExtension, NotificationBinding
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation
from pydantic import BaseModel

from tests.service_process import ServiceProcess, serving

BOUND_S = 30.0
CORE = {"list_todos", "claim", "complete", "fail", "heartbeat"}


class Bell(BaseModel):
    """A doorbell's parameters."""

    content: str
    meta: dict[str, str]


@dataclass
class Doorbell(ClientExtension):
    """Hears doorbells; the SDK's client has no other way to a vendor's notification."""

    identifier = "test.switchboard/doorbell"
    heard: asyncio.Queue[Bell] = field(default_factory=asyncio.Queue[Bell])

    def notifications(self) -> list[NotificationBinding[Bell]]:
        return [
            NotificationBinding(
                method="notifications/claude/channel", params_type=Bell, handler=self.heard.put
            )
        ]

    async def next_bell(self) -> Bell:
        async with asyncio.timeout(BOUND_S):
            return await self.heard.get()


@asynccontextmanager
async def connected(
    vended: Mapping[str, Any], mode: Any, doorbell: Doorbell, name: str = "interop"
) -> AsyncGenerator[Client]:
    headers = {"authorization": f"Bearer {vended['credential']}"}
    async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=BOUND_S) as http:
        transport = streamable_http_client(vended["url"], http_client=http)
        info = Implementation(name=name, version="1")
        async with Client(transport, mode=mode, client_info=info, extensions=[doorbell]) as client:
            yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    structured: Any = result.structured_content
    return structured


async def finish(client: Client, service: ServiceProcess, todo_id: str) -> None:
    listed = await call(client, "list_todos")
    assert [todo["id"] for todo in listed["todos"]] == [todo_id]
    claimed = await call(client, "claim", id=todo_id)
    await call(client, "complete", id=todo_id, lease_token=claimed["lease_token"])
    assert (await service.todo(todo_id))["state"] == "done"


@pytest.mark.parametrize(("mode", "name"), [("legacy", "interop"), ("auto", "claude-code")])
async def test_a_client_with_a_session_is_rung_when_it_comes_and_while_it_listens(
    mode: str, name: str, tmp_path: Path
) -> None:
    doorbell = Doorbell()
    async with serving(tmp_path) as service:
        vended = await service.vend()
        waiting = await service.add()
        async with connected(vended, mode, doorbell, name) as client:
            assert client.protocol_version == "2025-11-25"
            assert {tool.name for tool in (await client.list_tools()).tools} >= CORE
            assert (await doorbell.next_bell()).meta["todo_id"] == waiting
            await finish(client, service, waiting)
            later = await service.add()
            bell = await doorbell.next_bell()
            assert bell.meta["todo_id"] == later
            assert "Say hello" in bell.content
            await finish(client, service, later)


@pytest.mark.parametrize("mode", ["auto", "2026-07-28"])
async def test_a_client_of_the_new_era_lists_claims_and_completes(
    mode: str, tmp_path: Path
) -> None:
    async with serving(tmp_path) as service:
        vended = await service.vend()
        waiting = await service.add()
        async with connected(vended, mode, Doorbell()) as client:
            assert client.protocol_version == "2026-07-28"
            assert {tool.name for tool in (await client.list_tools()).tools} >= CORE
            await finish(client, service, waiting)
