"""The 2026-07-28 era over real sockets: envelope, routing headers, statuses, listening, ends."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.agent_transport.mcp.fixture_server import serving
from tests.agent_transport.mcp.wire_client import (
    BOUND_S,
    Answer,
    exchange,
    read_chunked,
    read_head,
    request_bytes,
)

VERSION = "2026-07-28"


def envelope(name: str = "t", version: str = VERSION) -> dict[str, Any]:
    return {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"},
    }


def raw(
    method: str,
    params: dict[str, Any] | None = None,
    *,
    meta: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> bytes:
    params = {**(params or {}), "_meta": envelope() if meta is None else meta}
    body = {"jsonrpc": "2.0", "id": "m1", "method": method, "params": params}
    lines = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": method,
    }
    if "name" in params:
        lines["Mcp-Name"] = params["name"]
    return request_bytes("POST", json.dumps(body).encode(), lines | (headers or {}))


def code(answer: Answer) -> tuple[int, int]:
    return answer.status, answer.json["error"]["code"]


async def test_a_lone_message_is_served_without_a_session() -> None:
    async with serving() as fixture:
        found = await exchange(fixture.port, raw("server/discover"))
        assert VERSION in found.json["result"]["supportedVersions"]
        call = raw("tools/call", {"name": "echo", "arguments": {"text": "hi"}})
        answer = await exchange(fixture.port, call)
        assert answer.json["result"]["content"][0]["text"] == "hi"
        assert answer.json["result"]["resultType"] == "complete"
        assert "mcp-session-id" not in answer.headers
        assert fixture.sessions.rows == {}


async def test_errors_have_the_status_of_their_code() -> None:
    async with serving() as fixture:
        assert code(await exchange(fixture.port, raw("no/such"))) == (404, -32601)
        unknown = raw("tools/call", {"name": "nope", "arguments": {}})
        assert code(await exchange(fixture.port, unknown)) == (400, -32602)
        broken = await exchange(fixture.port, raw("tools/call", {"name": "break"}))
        assert broken.json["error"] == {"code": -32603, "message": "Internal error"}


@pytest.mark.parametrize(
    ("headers", "meta", "expected"),
    [
        ({"Mcp-Method": "tools/call"}, None, -32020),
        ({"MCP-Protocol-Version": "2027-01-01"}, None, -32020),
        ({"MCP-Protocol-Version": "2027-01-01"}, envelope(version="2027-01-01"), -32022),
        ({"MCP-Protocol-Version": "2027-01-01"}, {}, -32022),
        ({}, {}, -32602),
        ({"mcp-method": "tools/list"}, None, -32020),
    ],
)
async def test_a_message_that_contradicts_its_headers_is_refused(
    headers: dict[str, str], meta: dict[str, Any] | None, expected: int
) -> None:
    async with serving() as fixture:
        refused = await exchange(fixture.port, raw("tools/list", meta=meta, headers=headers))
        assert code(refused) == (400, expected)
        assert refused.json["id"] == "m1"


async def test_a_named_client_is_sent_back_to_a_session_and_others_are_served() -> None:
    async with serving(refuse_modern=lambda caller, name: name == "claude-code") as fixture:
        probe = raw("server/discover", meta=envelope("claude-code"))
        refused = await exchange(fixture.port, probe)
        assert code(refused) == (400, -32022)
        assert VERSION not in refused.json["error"]["data"]["supported"]
        assert refused.json["error"]["data"]["requested"] == VERSION
        assert (await exchange(fixture.port, raw("server/discover"))).status == 200


async def test_a_version_that_nobody_serves_is_answered_with_the_versions_of_discovery() -> None:
    async with serving() as fixture:
        found = await exchange(fixture.port, raw("server/discover"))
        later = raw(
            "server/discover",
            meta=envelope(version="2027-01-01"),
            headers={"MCP-Protocol-Version": "2027-01-01"},
        )
        refused = (await exchange(fixture.port, later)).json["error"]["data"]
        assert refused["supported"] == found.json["result"]["supportedVersions"]
        assert refused["requested"] == "2027-01-01"


async def test_a_listener_is_acknowledged_and_ended_with_a_result_at_drain() -> None:
    async with serving() as fixture:
        reader, writer = await asyncio.open_connection("127.0.0.1", fixture.port)
        writer.write(raw("subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
        status, headers = await read_head(reader)
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
        fixture.carrier.drain()
        body = await asyncio.wait_for(read_chunked(reader), BOUND_S)
        frames = [json.loads(part.split(b"\n")[0]) for part in body.split(b"data: ")[1:]]
        assert frames[0]["method"] == "notifications/subscriptions/acknowledged"
        assert frames[-1]["id"] == "m1"
        assert frames[-1]["result"]["resultType"] == "complete"
        writer.close()


async def test_a_client_that_leaves_cancels_its_handler() -> None:
    async with serving() as fixture:
        _, writer = await asyncio.open_connection("127.0.0.1", fixture.port)
        writer.write(raw("subscriptions/listen", {"notifications": {}}))
        await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
        writer.close()
        await writer.wait_closed()
        await asyncio.wait_for(fixture.undone.wait(), BOUND_S)
