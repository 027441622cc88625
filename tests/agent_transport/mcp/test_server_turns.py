"""One agent session as an MCP server: the answer to each way a submitted turn may go."""

import asyncio
from typing import Any

import pytest

from agent_transport.errors import (
    NotRunReason,
    SessionBusy,
    TurnNotRun,
)
from agent_transport.mcp.call import EndReason
from agent_transport.session import (
    CancelSignal,
    JsonObject,
    ToolEnvelope,
)
from agent_transport.testing import FakeSession
from tests.agent_transport.mcp.agent_server import Agent, Answered
from tests.specification import requirement


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
