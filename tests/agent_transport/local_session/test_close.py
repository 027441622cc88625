"""The end of a local session: what runs has five seconds, what waits never runs."""

from __future__ import annotations

import asyncio

import pytest

from agent_transport.errors import SessionClosed
from agent_transport.local_session import CLOSE_GRACE_S, LocalSession
from agent_transport.testing import ManualCancel
from tests.agent_transport.local_session.sessions import Held, response_of

pytestmark = pytest.mark.concurrency


async def test_a_closed_session_refuses_each_request() -> None:
    it = Held()
    await it.session.close()
    await it.session.close()
    for asked in (it.submit("a"), it.invoke(), it.session.list_runtime_tools()):
        with pytest.raises(SessionClosed):
            await asked


async def test_what_runs_may_end_by_itself_and_what_waits_never_runs() -> None:
    it = Held()
    running, waiting = await it.submit("a"), await it.submit("b")
    await it.until_begun()
    closing = asyncio.ensure_future(it.session.close())
    with pytest.raises(SessionClosed):
        await response_of(waiting)
    assert not closing.done()
    it.release("a")
    assert await response_of(running) == "heard a"
    await closing
    assert it.prompts == ["a"]


async def test_a_turn_and_a_tool_that_go_on_are_ended_when_the_grace_is_over() -> None:
    turns, tools = Held(), Held()
    turn = await turns.submit("a")
    call = asyncio.ensure_future(tools.invoke())
    for it in (turns, tools):
        await it.until_begun()
        closing = [asyncio.ensure_future(it.session.close()) for _ in range(2)]
        await it.clock.until_somebody_sleeps()
        await asyncio.sleep(0)
        it.clock.advance(CLOSE_GRACE_S)
        await asyncio.gather(*closing)
    with pytest.raises(SessionClosed):
        await response_of(turn)
    with pytest.raises(SessionClosed):
        await call
    assert (turns.cancelled, tools.cancelled) == (["a"], ["tool"])


async def test_a_turn_that_will_not_end_does_not_hold_the_close_for_ever() -> None:
    released, clock = asyncio.Event(), Held().clock

    async def answer(prompt: str) -> str:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    session = LocalSession(answer, sleep=clock.sleep)
    turn = await session.submit("a", driver_id="1", cancel=ManualCancel())
    await asyncio.sleep(0)
    closing = asyncio.ensure_future(session.close())
    for _ in range(2):
        await clock.until_somebody_sleeps()
        clock.advance(CLOSE_GRACE_S)
        await asyncio.wait([closing], timeout=0.01)
    await closing
    with pytest.raises(SessionClosed):
        await response_of(turn)
    released.set()


async def test_a_turn_may_close_its_own_session_and_still_answer() -> None:
    async def answer(prompt: str) -> str:
        await session.close()
        return "closed it"

    session = LocalSession(answer)
    turn = await session.submit("a", driver_id="1", cancel=ManualCancel())
    assert await response_of(turn) == "closed it"


async def test_leaving_the_block_closes() -> None:
    it = Held()
    async with it.session:
        pass
    with pytest.raises(SessionClosed):
        await it.submit("a")
