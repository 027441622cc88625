"""The 2026-07-28 era rule by rule: what stands alone, what its headers must say, what it drops."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from tests.agent_transport.mcp.fixture_server import serving
from tests.agent_transport.mcp.test_modern import VERSION, code, envelope, raw
from tests.agent_transport.mcp.wire_client import BOUND_S, exchange, request_bytes

CALL: dict[str, Any] = {"name": "echo", "arguments": {"text": "hi"}}


def without(message: bytes, name: str) -> bytes:
    """The message less one of its headers."""
    head, _, body = message.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.startswith(name.encode() + b":")]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def posted(body: Any, **headers: str) -> bytes:
    lines = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return request_bytes("POST", json.dumps(body).encode(), lines)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_this_era_has_no_stream_of_its_own_and_no_session_to_end(method: str) -> None:
    async with serving() as fixture:
        lines = {"MCP-Protocol-Version": VERSION, "Accept": "*/*", "Mcp-Session-Id": "x"}
        refused = await exchange(fixture.port, request_bytes(method, b"", lines))
        assert (refused.status, refused.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("name", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
async def test_a_message_without_one_of_its_headers_is_refused(name: str) -> None:
    async with serving() as fixture:
        refused = await exchange(fixture.port, without(raw("tools/call", CALL), name))
        assert code(refused) == (400, -32020)
        assert refused.json["id"] == "m1"


@pytest.mark.parametrize(
    "headers",
    [
        {"Mcp-Name": "Echo"},
        {"Mcp-Name": ""},
        {"Mcp-Name": "ech\u00f6"},
        {"Mcp-Name": "=?base64?" + base64.b64encode(b"other").decode() + "?="},
        {"Mcp-Name": "=?base64?%%%?="},
        {"Mcp-Method": "Tools/Call"},
        {"Mcp-Method": "tools/list"},
        {"MCP-Protocol-Version": "2026-07-29"},
    ],
)
async def test_a_header_that_says_another_thing_than_the_body_is_refused(
    headers: dict[str, str],
) -> None:
    async with serving() as fixture:
        refused = await exchange(fixture.port, raw("tools/call", CALL, headers=headers))
        assert code(refused) == (400, -32020)


async def test_a_header_may_be_spelt_and_coded_as_the_era_allows() -> None:
    coded = "=?base64?" + base64.b64encode(b"echo").decode() + "?="
    message = raw("tools/call", CALL, headers={"Mcp-Name": coded})
    async with serving() as fixture:
        for spelt in (message, message.replace(b"Mcp-Name", b"MCP-NAME")):
            answer = await exchange(fixture.port, spelt)
            assert answer.json["result"]["content"][0]["text"] == "hi"


@pytest.mark.parametrize(
    "method", ["ping", "logging/setLevel", "initialize", "resources/subscribe"]
)
async def test_a_method_that_this_era_dropped_is_unknown(method: str) -> None:
    async with serving() as fixture:
        assert code(await exchange(fixture.port, raw(method))) == (404, -32601)
        assert fixture.sessions.rows == {}


@pytest.mark.parametrize("missing", ["protocolVersion", "clientCapabilities"])
async def test_an_envelope_that_lacks_what_it_must_have_is_invalid(missing: str) -> None:
    meta = {name: value for name, value in envelope().items() if not name.endswith(missing)}
    async with serving() as fixture:
        assert code(await exchange(fixture.port, raw("tools/list", meta=meta))) == (400, -32602)


async def test_a_client_need_not_name_itself() -> None:
    meta = {name: value for name, value in envelope().items() if not name.endswith("clientInfo")}
    async with serving() as fixture:
        assert (await exchange(fixture.port, raw("tools/list", meta=meta))).status == 200


@pytest.mark.parametrize(
    "body",
    [
        [{"jsonrpc": "2.0", "id": 1, "method": "server/discover"}],
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ],
)
async def test_what_is_neither_a_request_nor_a_notification_is_refused(body: Any) -> None:
    async with serving() as fixture:
        refused = await exchange(fixture.port, posted(body, Mcp_Method="server/discover"))
        assert code(refused) == (400, -32600)


async def test_a_notification_is_accepted_without_a_body() -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/x", "params": {"_meta": envelope()}}
    async with serving() as fixture:
        accepted = await exchange(fixture.port, posted(note, Mcp_Method="notifications/x"))
        assert (accepted.status, accepted.body) == (202, b"")


async def test_a_session_or_an_event_that_a_client_still_names_is_ignored() -> None:
    async with serving() as fixture:
        stray = {"Mcp-Session-Id": "nobody", "Last-Event-ID": "7"}
        answer = await exchange(fixture.port, raw("tools/call", CALL, headers=stray))
        assert answer.json["result"]["content"][0]["text"] == "hi"
        assert "mcp-session-id" not in answer.headers


async def test_every_result_says_that_it_is_complete_and_who_gives_it() -> None:
    messages = (raw("server/discover"), raw("tools/list"), raw("tools/call", CALL))
    async with serving() as fixture:
        for message in messages:
            result = (await exchange(fixture.port, message)).json["result"]
            assert result["resultType"] == "complete"
            assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "fixture"


async def test_progress_comes_on_the_answer_of_its_own_call_alone() -> None:
    async with serving() as fixture:
        asking = {"progressToken": "t"} | envelope()
        quiet, told = await asyncio.gather(
            exchange(fixture.port, raw("tools/call", {"name": "progress"})),
            exchange(fixture.port, raw("tools/call", {"name": "progress"}, meta=asking)),
        )
        assert quiet.headers["content-type"] == "application/json"
        assert told.headers["content-type"] == "text/event-stream"
        assert told.body.count(b'"notifications/progress"') == 1
        assert b'"resultType":"complete"' in told.body


async def test_a_client_that_leaves_a_call_cancels_it_and_its_change_is_taken_back() -> None:
    async with serving() as fixture:
        _, writer = await asyncio.open_connection("127.0.0.1", fixture.port)
        writer.write(raw("tools/call", {"name": "undoable", "arguments": {}}))
        await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
        writer.transport.abort()
        await asyncio.wait_for(fixture.undone.wait(), BOUND_S)
        assert not fixture.release.is_set()


async def test_a_listener_that_takes_no_event_stream_is_told_so() -> None:
    listen = raw("subscriptions/listen", {"notifications": {}})
    async with serving() as fixture:
        deaf = listen.replace(b"application/json, text/event-stream", b"application/json")
        assert code(await exchange(fixture.port, deaf)) == (406, -32600)
