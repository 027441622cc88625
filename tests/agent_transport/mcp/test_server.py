"""One agent session as an MCP server: the answer to each outcome of a tool call, and breakage."""

import asyncio
import json
import logging
import math
from collections.abc import Awaitable
from typing import Any

import pytest

from agent_transport.errors import (
    SessionClosed,
    TurnFailed,
)
from agent_transport.session import (
    CancelSignal,
    JsonObject,
    ToolEnvelope,
    TurnResult,
)
from agent_transport.testing import FakeSession
from agent_transport.testing.fake_session import ECHO
from tests.agent_transport.mcp.agent_server import Agent, Answered, error_of
from tests.specification import requirement

SECRET = "the-inner-secret"


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
