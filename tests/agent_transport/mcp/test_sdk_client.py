"""The official SDK client against the carrier, in each era it can speak."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.agent_transport.mcp.fixture_server import TOOLS, serving
from tests.specification import requirement


@requirement("SPEC-0014/endpoint/official-sdk")
@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_the_official_client_lists_and_calls_tools(mode: Any) -> None:
    async with serving() as fixture, Client(streamable_http_client(fixture.url), mode=mode) as it:
        assert [tool.name for tool in (await it.list_tools()).tools] == TOOLS
        result = await it.call_tool("echo", {"text": "hi"})
        block = result.content[0]
        assert isinstance(block, types.TextContent)
        assert block.text == "hi"
