"""One agent session as an MCP server: the catalog, and the answer to each outcome of a call."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Awaitable
from typing import Any

import pytest

from agent_transport.errors import (
    CatalogInvalid,
    ConfigurationError,
    NotRunReason,
    SessionBusy,
    SessionClosed,
    TurnFailed,
    TurnNotRun,
)
from agent_transport.mcp.call import EndReason
from agent_transport.mcp.catalog import SubmissionTool
from agent_transport.session import (
    CancelSignal,
    JsonObject,
    RuntimeTool,
    ToolEnvelope,
    TurnResult,
)
from agent_transport.testing import FakeSession
from agent_transport.testing.fake_session import ECHO
from tests.agent_transport.mcp.agent_server import INITIALIZE, Agent, Answered, error_of
from tests.specification import requirement

SECRET = "the-inner-secret"


def tool(name: Any, parameters: Any = None) -> RuntimeTool:
    return RuntimeTool(name, "A tool", {"type": "object"} if parameters is None else parameters)


# --- what is advertised


@requirement("agent-transport/catalog/tools-only")
async def test_the_server_has_tools_and_nothing_else() -> None:
    agent = await Agent.of(FakeSession())
    opened = await agent.ask("initialize", INITIALIZE)
    assert opened["capabilities"] == {"tools": {}}
    for method in ("resources/list", "resources/templates/list", "prompts/list"):
        assert (await error_of(agent.ask(method, {}))).code == -32601


@requirement("agent-transport/catalog/canonical-names", "agent-transport/catalog/no-command-route")
async def test_the_list_is_the_catalog_in_its_order_and_the_submission_tool_last() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "x-own": 1}
    session = FakeSession([tool("z.last"), RuntimeTool("a_first", "Does it", schema)])
    listed = await (await Agent.of(session)).list()
    assert [entry["name"] for entry in listed] == ["z.last", "a_first", "agent_submit"]
    assert listed[1] == {"name": "a_first", "description": "Does it", "inputSchema": schema}
    assert listed[2]["inputSchema"] == {
        "type": "object",
        "properties": {"prompt": {"type": "string", "minLength": 1}},
        "required": ["prompt"],
        "additionalProperties": False,
    }


@requirement("agent-transport/catalog/submission-identity")
async def test_the_host_chooses_the_name_of_the_submission_tool() -> None:
    chosen = SubmissionTool("ask_scout", "Ask the scout")
    agent = await Agent.of(FakeSession([]), submission=chosen)
    (listed,) = await agent.list()
    assert (listed["name"], listed["description"]) == ("ask_scout", "Ask the scout")
    assert await agent.call("ask_scout", {"prompt": "go"}) == Answered("heard: go", False)
    assert (await agent.call("agent_submit", {"prompt": "go"})).is_error


@pytest.mark.parametrize("name", ["", "a b", "a/b", "ä", "x" * 129, "a\n"])
def test_a_submission_name_that_is_no_tool_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"submission\.name"):
        SubmissionTool(name)
    with pytest.raises(ConfigurationError, match="description"):
        SubmissionTool("x" * 128, "")


# --- a catalog that cannot be served

BAD_CATALOGS: list[tuple[list[RuntimeTool], str]] = [
    ([ECHO, tool("agent_submit")], "'agent_submit' has the name of the submission tool"),
    ([ECHO, tool("a"), ECHO], "'echo' stands in the catalog twice"),
    ([tool("a b")], "'a b' has a name"),
    ([tool("")], "'' has a name"),
    ([tool("x" * 129)], "has a name"),
    ([tool(7)], "'7' has a name"),
    ([tool("a", {})], "'a' has a schema whose root is no object"),
    ([tool("a", {"type": "array"})], "'a' has a schema"),
    ([tool("a", {"type": ["object"]})], "'a' has a schema"),
    ([tool("a", [])], "'a' has a schema"),
    ([RuntimeTool("a", None, {"type": "object"})], "'a' has no description"),  # type: ignore[arg-type]  # what a careless session gives
]


@requirement(
    "agent-transport/catalog/checked-first", "agent-transport/catalog/collision-fails-start"
)
@pytest.mark.parametrize(("tools", "complaint"), BAD_CATALOGS)
async def test_a_bad_catalog_builds_no_server_and_names_the_tool(
    tools: list[RuntimeTool], complaint: str
) -> None:
    with pytest.raises(CatalogInvalid, match=complaint):
        await Agent.of(FakeSession(tools))


@requirement("agent-transport/catalog/later-collision-visible")
@pytest.mark.parametrize(("tools", "complaint"), BAD_CATALOGS)
async def test_a_catalog_that_goes_bad_fails_lists_and_calls_and_the_runtime_is_not_called(
    tools: list[RuntimeTool], complaint: str
) -> None:
    session = FakeSession()
    agent = await Agent.of(session)
    session.tools[:] = tools
    listed = await error_of(agent.list())
    assert complaint in listed.message
    for name, arguments in (("echo", {"text": "x"}), ("agent_submit", {"prompt": "x"})):
        called = await agent.call(name, arguments)
        assert called.is_error
        assert complaint in called.text
    assert (session.invoked, session.turns) == ([], [])
    session.tools[:] = [ECHO]
    assert not (await agent.call("echo", {"text": "x"})).is_error


async def test_a_schema_that_is_altered_in_place_is_noticed() -> None:
    altered = tool("a")
    agent = await Agent.of(FakeSession([altered]))
    altered.parameters["type"] = "array"
    assert "no object" in (await error_of(agent.list())).message
    assert (await agent.call("a")).is_error


async def test_a_tool_that_comes_later_is_listed_and_called_and_one_that_went_is_unknown() -> None:
    session = FakeSession()
    agent = await Agent.of(session)
    session.tools[:] = [tool("new")]
    assert [entry["name"] for entry in await agent.list()] == ["new", "agent_submit"]
    assert not (await agent.call("new")).is_error
    assert await agent.call("echo", {"text": "x"}) == Answered("Unknown tool: echo", True)


# --- tool calls


@requirement("agent-transport/call/delegates")
async def test_a_tool_call_is_the_sessions_own_and_its_envelope_is_the_answer() -> None:
    session = FakeSession()

    async def invoke(name: str, arguments: JsonObject, cancel: CancelSignal) -> ToolEnvelope:
        return ToolEnvelope(True, result={"ü": [1, None]}, metadata={"ms": 3})

    session.invoke = invoke
    answered = await (await Agent.of(session)).call("echo", {"text": "hi"})
    assert session.invoked == [("echo", {"text": "hi"})]
    assert answered.text == '{"success":true,"result":{"ü":[1,null]},"metadata":{"ms":3}}'
    assert not answered.is_error


async def test_a_call_without_arguments_is_a_call_with_none() -> None:
    session = FakeSession()
    await (await Agent.of(session)).call("echo")
    assert session.invoked == [("echo", {})]


@requirement(
    "agent-transport/call/permission-denied",
    "agent-transport/call/permission-interactive",
)
@pytest.mark.parametrize("error", ["denied by the policy", "needs a person's permission"])
async def test_an_envelope_without_success_is_a_visible_error(error: str) -> None:
    session = FakeSession()

    async def invoke(name: str, arguments: JsonObject, cancel: CancelSignal) -> ToolEnvelope:
        return ToolEnvelope(False, error=error)

    session.invoke = invoke
    answered = await (await Agent.of(session)).call("echo", {"text": "x"})
    assert answered.is_error
    assert json.loads(answered.text) == {"success": False, "error": error}


@requirement("agent-transport/call/unknown-name", "agent-transport/catalog/no-command-route")
@pytest.mark.parametrize("name", ["nothing", "command_help", "executeCommand", "exposeCommands"])
async def test_an_unknown_name_is_a_visible_error_and_reaches_nobody(name: str) -> None:
    session = FakeSession()
    answered = await (await Agent.of(session)).call(name, {"a": 1})
    assert answered == Answered(f"Unknown tool: {name}", True)
    assert session.invoked == []


async def test_an_unknown_name_is_not_echoed_at_any_length() -> None:
    answered = await (await Agent.of(FakeSession())).call("x" * 5000)
    assert answered == Answered("Unknown tool: " + "x" * 128, True)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
async def test_arguments_that_are_not_json_are_a_visible_error_and_reach_nobody(
    value: float,
) -> None:
    session = FakeSession()
    answered = await (await Agent.of(session)).call("echo", {"text": [value]})
    assert answered == Answered("The arguments are not JSON", True)
    assert session.invoked == []


@requirement("agent-transport/call/busy")
@pytest.mark.parametrize(
    ("name", "arguments"), [("echo", {"text": "x"}), ("agent_submit", {"prompt": "x"})]
)
async def test_a_busy_session_is_a_visible_error(name: str, arguments: JsonObject) -> None:
    session = FakeSession()
    session.busy = True
    answered = await (await Agent.of(session)).call(name, arguments)
    assert answered.is_error
    assert "turn" in answered.text


# --- turns


async def test_a_turn_is_answered_with_its_response() -> None:
    agent = await Agent.of(FakeSession())
    assert await agent.call("agent_submit", {"prompt": "hi"}) == Answered("heard: hi", False)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"prompt": ""},
        {"prompt": None},
        {"prompt": 3},
        {"prompt": "a", "extra": 1},
        {"text": "a"},
    ],
)
async def test_a_prompt_that_is_missing_empty_or_not_alone_is_a_visible_error(
    arguments: JsonObject,
) -> None:
    session = FakeSession()
    answered = await (await Agent.of(session)).call("agent_submit", arguments)
    assert answered.is_error
    assert "prompt must be given" in answered.text
    assert session.turns == []


async def test_two_callers_get_each_its_own_answer_under_drivers_of_their_own() -> None:
    session = FakeSession(manual_turns=True)
    agent = await Agent.of(session)
    first = asyncio.ensure_future(agent.call("agent_submit", {"prompt": "same"}))
    one = await session.submitted.get()
    second = asyncio.ensure_future(agent.call("agent_submit", {"prompt": "same"}))
    two = await session.submitted.get()
    assert one.driver_id != two.driver_id
    two.answer("second")
    one.answer("first")
    assert (await first, await second) == (Answered("first", False), Answered("second", False))


async def test_two_servers_of_one_session_never_share_a_driver() -> None:
    session = FakeSession()
    for agent in (await Agent.of(session), await Agent.of(session)):
        await agent.call("agent_submit", {"prompt": "x"})
    assert len({turn.driver_id for turn in session.turns}) == 2


@requirement("agent-transport/call/cancelled")
@pytest.mark.parametrize("reason", list(NotRunReason))
async def test_a_turn_that_never_ran_is_a_visible_error(reason: NotRunReason) -> None:
    session = FakeSession(manual_turns=True)
    calling = asyncio.ensure_future((await Agent.of(session)).call("agent_submit", {"prompt": "x"}))
    (await session.submitted.get()).not_run(reason)
    assert await calling == Answered(f"the turn was {reason}", True)


@requirement("agent-transport/call/cancelled", "agent-transport/call/cancel-spares-others")
async def test_a_call_that_is_told_to_end_is_a_visible_error_and_ends_no_other() -> None:
    session = FakeSession(manual_turns=True)
    agent = await Agent.of(session)
    ended = agent.new_call()
    first = asyncio.ensure_future(agent.call("agent_submit", {"prompt": "a"}, ended))
    await session.submitted.get()
    second = asyncio.ensure_future(agent.call("agent_submit", {"prompt": "b"}))
    await session.submitted.get()
    ended.ended.set(EndReason.DRAINED)
    assert await first == Answered("the turn was cancelled", True)
    session.turns[1].answer("still here")
    assert await second == Answered("still here", False)
    assert not session.turns[1].cancel.is_set()


@requirement("agent-transport/call/cancel-spares-others")
async def test_cancelling_a_request_tells_its_turn_and_stays_a_cancellation() -> None:
    session = FakeSession(manual_turns=True)
    agent = await Agent.of(session)
    first = asyncio.ensure_future(agent.call("agent_submit", {"prompt": "a"}))
    await session.submitted.get()
    second = asyncio.ensure_future(agent.call("agent_submit", {"prompt": "b"}))
    await session.submitted.get()
    first.cancel()
    await asyncio.wait([first])
    assert first.cancelled()
    assert session.turns[0].cancel.is_set()
    assert not session.turns[1].cancel.is_set()
    session.turns[1].answer("done")
    assert await second == Answered("done", False)


@pytest.mark.parametrize("way", ["signal", "task"])
async def test_a_tool_that_is_no_longer_wanted_is_cancelled(way: str) -> None:
    session = FakeSession()
    running, cancelled = asyncio.Event(), asyncio.Event()

    async def invoke(name: str, arguments: JsonObject, cancel: CancelSignal) -> ToolEnvelope:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    session.invoke = invoke
    agent = await Agent.of(session)
    call = agent.new_call()
    calling = asyncio.ensure_future(agent.call("echo", {"text": "x"}, call))
    await running.wait()
    if way == "signal":
        call.ended.set(EndReason.DRAINED)
        assert await calling == Answered("the turn was cancelled", True)
    else:
        calling.cancel()
        await asyncio.wait([calling])
        assert calling.cancelled()
    assert cancelled.is_set()
    assert call.ended.is_set()


async def test_a_disconnect_that_sets_the_signal_and_cancels_the_task_stays_a_cancellation() -> (
    None
):
    session = FakeSession(manual_turns=True)
    agent = await Agent.of(session)
    call = agent.new_call()
    calling = asyncio.ensure_future(agent.call("agent_submit", {"prompt": "x"}, call))
    await session.submitted.get()
    call.task = calling
    call.cancel(EndReason.DISCONNECTED)
    await asyncio.wait([calling])
    assert calling.cancelled()
    assert calling.cancelling() == 1


async def test_a_call_that_is_over_before_it_begins_reaches_nobody() -> None:
    session = FakeSession()
    agent = await Agent.of(session)
    call = agent.new_call()
    call.ended.set(EndReason.DRAINED)
    assert (await agent.call("echo", {"text": "x"}, call)).is_error
    assert session.invoked == []


async def test_a_future_that_the_session_cancelled_is_a_visible_error() -> None:
    session = FakeSession(manual_turns=True)
    calling = asyncio.ensure_future((await Agent.of(session)).call("agent_submit", {"prompt": "x"}))
    (await session.submitted.get()).settled.cancel()
    assert await calling == Answered("the turn was cancelled", True)


# --- breakage

BREAKAGE = [
    (TurnFailed(SECRET), "The turn failed"),
    (SessionClosed(SECRET), "The session is shutting down"),
    (RuntimeError(SECRET), "Internal error"),
]


@pytest.mark.parametrize(("raised", "message"), BREAKAGE)
async def test_a_turn_that_broke_is_a_protocol_error_without_detail(
    raised: Exception, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    session = FakeSession(manual_turns=True)
    calling: Awaitable[Any] = asyncio.ensure_future(
        (await Agent.of(session)).call("agent_submit", {"prompt": "x"})
    )
    (await session.submitted.get()).fail(raised)
    with caplog.at_level(logging.CRITICAL):
        error = await error_of(calling)
    assert (error.code, error.message, error.data) == (-32603, message, None)


@pytest.mark.parametrize(("raised", "message"), BREAKAGE)
async def test_a_session_that_breaks_in_a_tool_or_its_catalog_is_a_protocol_error(
    raised: Exception, message: str
) -> None:
    class Breaking(FakeSession):
        broken = False

        async def list_runtime_tools(self) -> Any:
            if self.broken:
                raise raised
            return await super().list_runtime_tools()

    async def invoke(name: str, arguments: JsonObject, cancel: CancelSignal) -> ToolEnvelope:
        raise raised

    session = Breaking()
    session.invoke = invoke
    agent = await Agent.of(session)
    called = await error_of(agent.call("echo", {"text": "x"}))
    session.broken = True
    listed, called_later = await error_of(agent.list()), await error_of(agent.call("echo"))
    assert {called.message, listed.message, called_later.message} == {message}


async def test_a_result_that_is_not_json_is_a_protocol_error() -> None:
    session = FakeSession()

    async def invoke(name: str, arguments: JsonObject, cancel: CancelSignal) -> ToolEnvelope:
        return ToolEnvelope(True, result={"nan": math.nan})

    session.invoke = invoke
    error = await error_of((await Agent.of(session)).call("echo", {"text": "x"}))
    assert error.message == "Internal error"


async def test_half_a_surrogate_pair_in_a_response_is_replaced() -> None:
    session = FakeSession(manual_turns=True)
    calling = asyncio.ensure_future((await Agent.of(session)).call("agent_submit", {"prompt": "x"}))
    (await session.submitted.get()).answer("a\ud83dü")
    assert await calling == Answered("a?ü", False)


@pytest.mark.parametrize("raised", [SessionBusy("busy"), TurnNotRun(NotRunReason.DROPPED)])
async def test_a_refused_submission_is_a_visible_error(raised: Exception) -> None:
    class Refusing(FakeSession):
        async def submit(self, prompt: str, *, driver_id: str, cancel: CancelSignal) -> Any:
            raise raised

    answered = await (await Agent.of(Refusing())).call("agent_submit", {"prompt": "x"})
    assert answered == Answered(str(raised), True)


@requirement("agent-transport/boundary/two-roles", "agent-transport/boundary/full-session-fits")
async def test_only_the_two_roles_of_a_session_are_used() -> None:
    """`FakeSession` has more; a session with the two roles alone is served as well."""

    class Bare:
        async def list_runtime_tools(self) -> Any:
            return [ECHO]

        async def invoke_runtime_tool(self, name: str, arguments: Any, *, cancel: Any) -> Any:
            return ToolEnvelope(True)

        async def submit(self, prompt: str, *, driver_id: str, cancel: Any) -> Any:
            class Turn:
                turn_id = "1"
                completed = _said(prompt)

            return Turn()

    agent = await Agent.of(Bare())
    assert (await agent.call("echo")).text == '{"success":true}'
    assert (await agent.call("agent_submit", {"prompt": "x"})).text == "x"


async def _said(prompt: str) -> TurnResult:
    return TurnResult(prompt)
