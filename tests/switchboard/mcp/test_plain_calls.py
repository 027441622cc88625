"""The quick way of a tool call answers as the kernel's own way does, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from switchboard.domain.endpoint import Verb
from switchboard.mcp.plain_calls import plain_call
from tests.specification import requirement
from tests.switchboard.mcp.agent import Agent
from tests.switchboard.mcp.serving import Surface
from tests.switchboard.mcp.test_listening import modern_bytes

ID = "td_" + "0" * 26
CALLS: tuple[dict[str, Any], ...] = (
    {"name": "list_todos", "arguments": {"queue": "inbox", "limit": 2}},
    {"name": "list_todos"},
    {"name": "get_todo", "arguments": {"id": ID}},
    {"name": "heartbeat", "arguments": {"id": ID, "lease_token": "lt_" + "a" * 20}},
    {"name": "claim", "arguments": {"queue": "elsewhere"}},
    {"name": "claim", "arguments": {"priority": 1}},
    {"name": "paint", "arguments": {}},
)
UNUSUAL = {"colour": "red"}
"""A field that no revision knows: the kernel takes such a call and drops the field."""


def in_a_session(agent: Agent, params: dict[str, Any]) -> bytes:
    agent.last_id = 0
    return agent.bytes_of("tools/call", params)


def of_2026(agent: Agent, params: dict[str, Any]) -> bytes:
    raw = modern_bytes(agent, "tools/call", params)
    if b"Mcp-Name: " in raw:
        return raw
    head, _, rest = raw.partition(b"\r\n")
    return head + f"\r\nMcp-Name: {params['name']}\r\n".encode() + rest


@requirement("SPEC-0014/tools/schemas")
@pytest.mark.parametrize("bytes_of", [in_a_session, of_2026])
async def test_a_plain_call_is_answered_as_one_that_goes_through_the_kernel(
    surface: Surface, bytes_of: Callable[[Agent, dict[str, Any]], bytes]
) -> None:
    agent = await surface.agent(verbs=tuple(Verb))
    for title in ("One", 'Two "quoted" ✓', "Three"):
        await surface.add(title)
    for params in CALLS:
        plain = await agent.send(bytes_of(agent, dict(params)))
        through = await agent.send(bytes_of(agent, params | UNUSUAL))
        assert plain.status == through.status
        assert plain.json == through.json, params
        assert ("result" in plain.json) == (params["name"] != "paint"), plain.json
        assert plain.headers["content-type"] == through.headers["content-type"]


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"name": 7},
        {"name": "claim", "arguments": []},
        {"name": "claim", "task": {}},
        {"name": "claim", "_meta": []},
        {"name": "claim", "_meta": {"progressToken": 1.5}},
        {"name": "claim", "_meta": {"progressToken": True}},
        {"name": "claim", "_meta": {"io.modelcontextprotocol/logLevel": "debug"}},
    ],
)
def test_whatever_is_unusual_is_left_to_the_kernel(params: dict[str, Any] | None) -> None:
    assert plain_call("tools/call", params) is None


def test_an_envelope_without_a_wish_for_the_kernel_makes_no_difference() -> None:
    params: dict[str, Any] = {
        "name": "claim",
        "arguments": None,
        "_meta": {"progressToken": "a", "x": {}},
    }
    assert plain_call("tools/call", params) == ("claim", {})
    assert plain_call("tools/list", params) is None
