"""Whatever an agent sends as arguments, it is taken as what it says or refused by name."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from switchboard.domain.actor import Actor, ActorKind
from switchboard.domain.endpoint import CORE_VERBS, Caller, EndpointId, Protocol, Verb
from switchboard.domain.refusal import Code, Refusal
from switchboard.domain.todo import DEFAULT_JSON_BYTES, TodoId, Trust
from switchboard.domain.workspace import WorkspaceId
from switchboard.mcp.arguments import check
from switchboard.mcp.schemas import PROPERTIES
from switchboard.records import NewTodo
from switchboard.service.draft import Origin, TodoDraft, new_todo

QUEUE = "reviews"
ID = "td_" + "0" * 26
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

_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.datetimes(timezones=st.timezones()).map(lambda at: at.isoformat()),
    st.sampled_from([ID, QUEUE, "-0", "5", "true", "pending", "\x00", "0001-01-01T00:00:00+23:59"]),
)
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner)),
    max_leaves=8,
)


@st.composite
def _calls(draw: st.DrawFn) -> tuple[Verb, dict[str, Any]]:
    verb = draw(st.sampled_from(list(Verb)))
    known = st.sampled_from(sorted(PROPERTIES[verb]))
    names = draw(st.lists(st.one_of(known, known, known, st.text(max_size=80)), max_size=6))
    return verb, {name: draw(_values) for name in names}


@settings(deadline=None, derandomize=True, max_examples=300)
@given(_calls())
def test_arguments_are_read_without_loss_or_refused_by_name(
    call: tuple[Verb, dict[str, Any]],
) -> None:
    verb, arguments = call
    checked = check(verb, arguments, CALLER, DEFAULT_JSON_BYTES)
    if isinstance(checked, Refusal):
        assert checked.code in (Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.FORBIDDEN)
        assert checked.field
        return
    assert set(checked) == {name for name, value in arguments.items() if value is not None}
    for name, value in checked.items():
        schema = PROPERTIES[verb][name]
        if schema.get("type") == "integer":
            assert schema["minimum"] <= value <= schema["maximum"]
            assert float(value) == float(arguments[name])
        elif name == "result":
            assert json.loads(value) == arguments[name]
        elif schema.get("type") == "string" and name != "available_at":
            assert value == arguments[name]
            value.encode("utf-8")
            assert "\x00" not in value


@settings(deadline=None, derandomize=True, max_examples=300)
@given(_calls())
def test_a_creation_that_was_read_makes_a_todo_or_names_the_field_at_fault(
    call: tuple[Verb, dict[str, Any]],
) -> None:
    asked = {"queue": QUEUE, "title": "x"} | call[1]
    named = {name: value for name, value in asked.items() if name in PROPERTIES[Verb.CREATE_TODO]}
    checked = check(Verb.CREATE_TODO, named, CALLER, DEFAULT_JSON_BYTES)
    if isinstance(checked, Refusal):
        return
    at_ms = checked.pop("available_at", None)
    checked.pop("parent_id", None)
    draft = TodoDraft(**checked, available_at_ms=at_ms)
    origin = Origin(Actor(ActorKind.AGENT, "ep_1", "bot"), Trust.AGENT, None)
    made = new_todo(draft, origin, TodoId(ID), DEFAULT_JSON_BYTES)
    if isinstance(made, Refusal):
        assert made.field in PROPERTIES[Verb.CREATE_TODO]
    else:
        assert isinstance(made, NewTodo)
        assert made.payload_json is None or json.loads(made.payload_json) == checked["payload"]
