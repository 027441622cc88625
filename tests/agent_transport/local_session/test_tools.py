"""Tools of a local session: who may, when, and what a caller hears of the outcome."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_transport.errors import ConfigurationError, SessionBusy, ToolFailed
from agent_transport.local_session import LocalSession
from agent_transport.local_tool import LocalTool
from agent_transport.permission import Permission, Permissions
from agent_transport.session import JsonObject, ToolEnvelope
from agent_transport.testing import ManualCancel
from tests.agent_transport.local_session.sessions import Held, response_of
from tests.specification import requirement

pytestmark = pytest.mark.concurrency


def tool_that(result: Any) -> LocalTool:
    async def run(arguments: JsonObject) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    return LocalTool("tool", "Does as the test says", run)


def broken_policy(tool: str, arguments: JsonObject) -> Permission:
    raise ZeroDivisionError


def vague_policy(tool: str, arguments: JsonObject) -> Any:
    return "yes"


async def called(tool: LocalTool) -> ToolEnvelope:
    return await Held(tool, permissions=Permissions({"tool": "allow"})).invoke("tool")


async def test_the_catalog_is_told_in_order_and_is_the_same_each_time() -> None:
    session = Held(tool_that(1)).session
    catalog = await session.list_runtime_tools()
    assert [tool.name for tool in catalog] == ["held", "tool"]
    assert await session.list_runtime_tools() is catalog


async def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="tools"):
        Held(tool_that(1), tool_that(2))


@requirement("agent-transport/admission/permission-without-prompt")
@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (Permissions(), "ask"),
        (Permissions({"held": "ask"}, default="allow"), "ask"),
        (Permissions({"held": Permission.DENY}, default="allow"), "deny"),
        (broken_policy, "deny"),
        (vague_policy, "deny"),
    ],
)
async def test_what_is_denied_or_needs_a_person_is_not_run(policy: Any, said: str) -> None:
    it = Held(permissions=policy)
    envelope = await it.invoke()
    assert (envelope.success, envelope.metadata) == (False, {"permission": said})
    assert it.begun.empty()


@requirement("agent-transport/admission/permission-without-prompt")
async def test_a_session_allows_nothing_unless_told() -> None:
    session = LocalSession(Held().answer, tools=[tool_that(1)])
    envelope = await session.invoke_runtime_tool("tool", {}, cancel=ManualCancel())
    assert envelope.success is False


def test_a_misspelt_permission_is_found_when_it_is_written() -> None:
    with pytest.raises(ValueError, match="alow"):
        Permissions({"tool": "alow"})


async def test_a_policy_sees_the_arguments_of_the_call() -> None:
    def only_small(tool: str, arguments: JsonObject) -> Permission:
        return Permission.ALLOW if arguments["n"] < 10 else Permission.DENY

    it = Held(tool_that("done"), permissions=only_small)
    assert (await it.invoke("tool", n=1)) == ToolEnvelope(True, result="done")
    assert (await it.invoke("tool", n=10)).success is False
    assert (await it.invoke("tool")).success is False


async def test_a_tool_tells_its_caller_what_it_means_to_tell_and_nothing_else() -> None:
    assert await called(tool_that({"a": [1]})) == ToolEnvelope(True, result={"a": [1]})
    failed = await called(tool_that(ToolFailed("no such file")))
    assert failed == ToolEnvelope(False, error="no such file")
    for broken in (ValueError("secret"), object(), float("nan")):
        assert await called(tool_that(broken)) == ToolEnvelope(False, error="The tool failed")


async def test_an_unknown_tool_is_an_envelope_without_success() -> None:
    assert (await Held().invoke("nothing")).success is False


async def test_a_tool_is_told_busy_while_a_turn_runs_or_waits() -> None:
    it = Held()
    turn = await it.submit("a")
    with pytest.raises(SessionBusy):
        await it.invoke()
    await it.until_begun()
    with pytest.raises(SessionBusy):
        await it.invoke()
    it.release("a", "tool")
    await response_of(turn)
    assert (await it.invoke()).result == "held"


async def test_a_denied_tool_is_denied_during_a_turn_too() -> None:
    it = Held(permissions=Permissions())
    turn = await it.submit("a")
    assert (await it.invoke()).success is False
    it.release("a")
    await response_of(turn)


async def test_tools_run_side_by_side_and_a_turn_waits_for_them() -> None:
    it = Held()
    calls = [asyncio.ensure_future(it.invoke()) for _ in range(2)]
    for _ in calls:
        await it.until_begun()
    turn = await it.submit("a")
    with pytest.raises(SessionBusy):
        await it.invoke()
    assert it.prompts == []
    it.release("tool")
    await asyncio.gather(*calls)
    assert await it.until_begun() == "a"
    it.release("a")
    assert await response_of(turn) == "heard a"


async def test_a_caller_that_leaves_ends_its_own_tool_call_and_no_other() -> None:
    it = Held()
    gone, stays = (asyncio.ensure_future(it.invoke()) for _ in range(2))
    for _ in range(2):
        await it.until_begun()
    gone.cancel()
    await asyncio.wait([gone])
    assert (gone.cancelled(), it.cancelled) == (True, ["tool"])
    it.release("tool")
    assert (await stays).success
