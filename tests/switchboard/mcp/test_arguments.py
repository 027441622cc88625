"""Each argument wrong in each way: the field is named and nothing is stored."""

from __future__ import annotations

import json
from typing import Any

import pytest

from switchboard.domain.endpoint import CORE_VERBS, Caller, EndpointId, Protocol, Verb
from switchboard.domain.refusal import Code, Refusal
from switchboard.domain.todo import DEFAULT_JSON_BYTES, State
from switchboard.domain.workspace import WorkspaceId
from switchboard.mcp.arguments import check
from switchboard.mcp.schemas import PROPERTIES, REQUIRED
from switchboard.records import TodoFilter
from tests.agent_transport.mcp.wire_client import request_bytes
from tests.switchboard.mcp.agent import Agent, tool_error
from tests.switchboard.mcp.serving import Surface

ID = "td_" + "0" * 26
QUEUE = "reviews"
NUL, LONE = "a\x00b", "a\ud800b"
GOOD: dict[str, Any] = {"id": ID, "queue": QUEUE, "title": "x"}

_TEXTS: list[object] = [7, 1.5, True, [], {}, ["x"], NUL, LONE, "\udfff"]
_WHOLES: list[object] = [
    "",
    "x",
    "1.0",
    "0x1",
    "１",
    " 1",
    1.5,
    True,
    [],
    {},
    "9" * 9,
    10**30,
    1e300,
]
_TRUTHS: list[object] = ["yes", "True", "", 0, 1, [], {}]


def nested(levels: int) -> object:
    """A list in a list in a list."""
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


_LONG_LINE = "x" * 2_049

WRONG: dict[str, list[object]] = {
    "id": [*_TEXTS, "", "td_", ID + "0", ID.upper(), "td_" + "u" * 26],
    "parent_id": [*_TEXTS, "", "nonsense"],
    "queue": [*_TEXTS, "", "secrets", "Reviews", "x" * 300],
    "state": [*_TEXTS, "", "PENDING", "gone"],
    "limit": [*_WHOLES, 0, 201, -1, "-1"],
    "cursor": [*_TEXTS, "", "nonsense"],
    "lease_seconds": [*_WHOLES, 9, 86_401, -1, "-10"],
    "wait_seconds": [*_WHOLES, -1, 26],
    "delay_seconds": [*_WHOLES, -1, 86_401],
    "summary": [*_TEXTS, _LONG_LINE, "ä" * 1_025],
    "reason": [*_TEXTS, _LONG_LINE],
    "note": [*_TEXTS, _LONG_LINE, "", "two\nlines", "two\u2028lines"],
    "retry": _TRUTHS,
    "include_payload": _TRUTHS,
    "lease_token": _TEXTS,
    "claim_key": [*_TEXTS, "", " ", "x" * 201, "two\nlines"],
    "result": [NUL, LONE, {"a": NUL}, {NUL: 1}, {LONE: 1}, "x" * DEFAULT_JSON_BYTES, nested(247)],
    "payload": [NUL, LONE, [[LONE]], {NUL: 1}, "x" * DEFAULT_JSON_BYTES, nested(900)],
    "title": [*_TEXTS, "", " ", "x" * 201, "two\nlines", "two\u2029lines"],
    "kind": [*_TEXTS, "", "x" * 65, "two\nlines"],
    "priority": [*_WHOLES, 101, -101, "-101"],
    "available_at": [*_TEXTS, "", "soon", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00"],
    "idempotency_key": [*_TEXTS, "", "x" * 201, "two\nlines"],
}


def call_text(arguments: bytes, name: bytes = b'"claim"') -> bytes:
    """A call as JSON text, for what no encoder writes."""
    params = b'{"name":%s,"arguments":%s}' % (name, arguments)
    return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}' % params


ALL = TodoFilter(states=tuple(State), limit=200)


async def refusals(agent: Agent, verb: Verb, arguments: dict[str, Any], name: str) -> None:
    """The call must be refused for this argument."""
    answer = await agent.send(raw_call(agent, verb, arguments))
    if answer.status == 400:  # a JSON text with a lone surrogate is none
        assert answer.json["error"]["code"] == -32700
        return
    error = tool_error(answer)
    text = answer.json["result"]["content"][0]["text"]
    assert error["code"] in ("invalid_argument", "not_found", "forbidden")
    assert text.startswith(f"{error['code']}: {name}"), (text, arguments[name])
    assert error["retryable"] is False
    if error["code"] == "invalid_argument" and name != "lease_token":
        assert text.endswith("Correct it and call again."), text


@pytest.mark.parametrize(
    ("verb", "name"), [(verb, name) for verb in Verb for name in PROPERTIES[verb]]
)
async def test_a_wrong_argument_is_named_and_nothing_is_stored(
    surface: Surface, verb: Verb, name: str
) -> None:
    agent = await surface.agent(verbs=tuple(Verb))
    held = await surface.add()
    await agent.done("claim", id=held)
    before = await everything(surface)
    good = {key: GOOD[key] for key in REQUIRED[verb]}
    if "id" in good:
        good["id"] = held
    for wrong in WRONG[name]:
        await refusals(agent, verb, good | {name: wrong}, name)
        assert await everything(surface) == before, wrong
    assert (await agent.post("ping")).status == 200


def raw_call(agent: Agent, verb: Verb, arguments: dict[str, Any]) -> bytes:
    """A call whose JSON spells out lone surrogates and NUL."""
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": verb, "arguments": arguments},
    }
    return request_bytes("POST", json.dumps(message).encode(), agent.headers(), agent.path)


async def everything(surface: Surface) -> list[object]:
    """All todos with their attempts and events."""
    rows, more = await surface.todos.list_rows(surface.ledger.workspace_id, ALL)
    assert not more
    return [await surface.store.todo(surface.ledger.workspace_id, row.todo.id) for row in rows]


@pytest.mark.parametrize("verb", list(Verb))
async def test_missing_null_and_unknown_arguments_are_told(surface: Surface, verb: Verb) -> None:
    agent = await surface.agent(verbs=tuple(Verb))
    for name in REQUIRED[verb]:
        for given in ({}, {name: None}):
            rest = {key: GOOD[key] for key in REQUIRED[verb] if key != name}
            answer = await agent.call(verb, **rest, **given)
            assert tool_error(answer)["code"] == "invalid_argument"
            assert f": {name}. " in answer.json["result"]["content"][0]["text"]
    for name in ("colour", "x" * 65, "_meta", "", NUL):
        answer = await agent.call(verb, **{name: 1})
        assert tool_error(answer)["code"] == "invalid_argument"


async def test_what_is_kept_can_be_told_again_however_deep_and_large(surface: Surface) -> None:
    agent = await surface.agent(verbs=tuple(Verb))
    for value in (nested(246), "\N{SNOWMAN}" * 21_000, {"": {"a": [2**64 - 1, -(2**63), 1e300]}}):
        todo_id = await surface.add(payload=value)
        assert (await agent.done("claim", id=todo_id))["payload"] == value
        await agent.done("complete", id=todo_id, result=value)
        shown = await agent.done("get_todo", id=todo_id)
        assert (shown["payload"], shown["result"]) == (value, value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("clientInfo", {"name": NUL, "version": "1"}),
        ("clientInfo", {"name": "x", "version": "1", "more": nested(300)}),
        ("clientInfo", {"name": "x" * 16_400, "version": "1"}),
        ("capabilities", {"experimental": {"x": {NUL: 1}}}),
        ("capabilities", {"experimental": {"x": {"y": nested(300)}}}),
        ("capabilities", []),
        ("protocolVersion", 7),
        ("protocolVersion", None),
    ],
)
async def test_a_handshake_that_cannot_be_kept_is_told_and_opens_no_session(
    surface: Surface, field: str, value: object
) -> None:
    agent = await surface.vend()
    params: dict[str, object] = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    }
    answer = await agent.post("initialize", params | {field: value})
    assert answer.json["error"]["code"] == -32602
    assert "mcp-session-id" not in answer.headers
    await agent.initialize()
    assert (await agent.post("ping")).status == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"claim",', -32700),
        (call_text(b'{"id":NaN}'), -32700),
        (call_text(b'{"lease_seconds":1e400}'), -32700),
        (call_text(b'{"id":"\xff"}'), -32700),
        (call_text(b'{"id":"\\ud800"}'), -32700),
        (call_text(b"[" * 2_000 + b"]" * 2_000), -32700),
        (call_text(b"[]"), -32602),
        (call_text(b'"x"'), -32602),
        (call_text(b"{}", b'"nonsense"'), -32602),
        (call_text(b"{}", b'"CLAIM"'), -32602),
        (call_text(b"{}", b'"claim\\u0000"'), -32602),
        (call_text(b"{}", b"7"), -32602),
        (call_text(b"{}", b"null"), -32602),
    ],
)
async def test_what_is_no_call_of_a_tool_is_a_protocol_error(
    surface: Surface, body: bytes, code: int
) -> None:
    todo_id = await surface.add()
    agent = await surface.agent(verbs=tuple(Verb))
    answer = await agent.send(request_bytes("POST", body, agent.headers(), agent.path))
    assert answer.json["error"]["code"] == code, answer.json
    assert answer.status == (400 if code == -32700 else 200)
    assert (await surface.todo(todo_id)).state is State.PENDING
    assert (await agent.done("claim"))["id"] == todo_id


@pytest.mark.parametrize(
    ("verb", "given", "taken"),
    [
        (Verb.LIST_TODOS, {"limit": "5"}, {"limit": 5}),
        (Verb.LIST_TODOS, {"limit": 5.0}, {"limit": 5}),
        (Verb.LIST_TODOS, {"limit": None, "queue": None}, {}),
        (Verb.CREATE_TODO, GOOD | {"priority": "-5"}, {"priority": -5}),
        (Verb.CREATE_TODO, GOOD | {"priority": -5.0}, {"priority": -5}),
        (Verb.CREATE_TODO, GOOD | {"payload": None}, {}),
        (Verb.FAIL, {"id": ID, "retry": "false"}, {"retry": False}),
        (Verb.COMPLETE, {"id": ID, "result": [1, {"b": None}]}, {"result": '[1,{"b":null}]'}),
        (Verb.COMPLETE, {"id": ID, "result": False}, {"result": "false"}),
        (Verb.COMPLETE, {"id": ID, "result": "\\u0000"}, {"result": '"\\\\u0000"'}),
    ],
)
def test_what_can_be_read_without_loss_is_taken(
    verb: Verb, given: dict[str, Any], taken: dict[str, Any]
) -> None:
    given = {name: value for name, value in given.items() if name in PROPERTIES[verb]}
    checked = check(verb, given, CALLER, DEFAULT_JSON_BYTES)
    assert not isinstance(checked, Refusal), checked
    assert {name: checked[name] for name in taken} == taken
    absent = {name for name, value in given.items() if value is None}
    assert not absent & set(checked)


def test_a_queue_out_of_scope_is_told_after_the_shape_and_before_anything_else() -> None:
    refused = check(Verb.CLAIM, {"queue": "secrets"}, CALLER, DEFAULT_JSON_BYTES)
    assert refused == Refusal(Code.FORBIDDEN, field="queue")
    shape = check(Verb.CLAIM, {"queue": "secrets", "wait_seconds": -1}, CALLER, DEFAULT_JSON_BYTES)
    assert shape == Refusal(Code.INVALID_ARGUMENT, field="wait_seconds")


CALLER = Caller(
    EndpointId("ep_1"),
    WorkspaceId("ws_1"),
    "cr_1",
    "bot-00000000",
    "bot",
    (QUEUE,),
    CORE_VERBS,
    Protocol.AUTO,
    300_000,
    None,
)
