"""Turns of a local session: one at a time, in order, each with its own answer or its own end."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

import pytest

from agent_transport.errors import NotRunReason, SessionBusy, TurnFailed, TurnNotRun
from agent_transport.local_session import MAX_WAITING, LocalSession
from agent_transport.session import McpTransportSession
from agent_transport.testing import ManualCancel
from tests.agent_transport.local_session.sessions import Held, response_of

pytestmark = pytest.mark.concurrency


async def ended_by(turn: Any) -> NotRunReason:
    with pytest.raises(TurnNotRun) as ended:
        await response_of(turn)
    return ended.value.reason


async def test_two_callers_at_once_are_both_answered_in_order_each_its_own() -> None:
    it = Held()
    port: McpTransportSession = it.session
    first, second = await asyncio.gather(
        *(port.submit(p, driver_id=p, cancel=ManualCancel()) for p in ("a", "b"))
    )
    ended: list[str] = []
    for turn in (first, second):
        waiting = asyncio.ensure_future(turn.completed)
        waiting.add_done_callback(lambda done: ended.append(done.result().response))
    it.release("b", "a")
    assert await response_of(second) == "heard b"
    assert await response_of(first) == "heard a"
    assert ended == ["heard a", "heard b"]
    assert (it.prompts, it.most_at_once) == (["a", "b"], 1)
    assert first.turn_id != second.turn_id


async def test_one_runs_and_32_wait_and_the_next_is_told_busy() -> None:
    it = Held()
    turns = [await it.submit(str(n)) for n in range(1 + MAX_WAITING)]
    with pytest.raises(SessionBusy):
        await it.submit("too many")
    it.release(*map(str, range(1 + MAX_WAITING)))
    assert [await response_of(turn) for turn in turns] == [f"heard {n}" for n in range(33)]
    assert (MAX_WAITING, len(it.prompts)) == (32, 33)
    again = await it.submit("later")
    it.release("later")
    assert await response_of(again) == "heard later"


async def test_what_one_driver_submits_while_it_waits_is_merged_and_keeps_its_place() -> None:
    it = Held()
    await it.submit("running", "one")
    earlier = await it.submit("first thought", "two")
    await it.submit("other", "three")
    later = await it.submit("second thought", "two")
    assert await ended_by(earlier) is NotRunReason.COALESCED
    merged = "first thought\n\nsecond thought"
    it.release("running", merged, "other")
    assert await response_of(later) == f"heard {merged}"
    assert it.prompts[1] == merged


async def test_two_drivers_are_never_merged_nor_is_one_with_its_running_turn() -> None:
    it = Held()
    turns = [await it.submit(prompt, driver) for prompt, driver in [("a", "1"), ("b", "1")]]
    turns.append(await it.submit("c", "2"))
    it.release("a", "b", "c")
    assert [await response_of(turn) for turn in turns] == ["heard a", "heard b", "heard c"]


async def test_cancelling_a_turn_that_waits_ends_that_one_at_once_and_no_other() -> None:
    it, cancel = Held(), ManualCancel()
    first, gone, last = (
        await it.submit("a"),
        await it.submit("b", cancel=cancel),
        await it.submit("c"),
    )
    cancel.set()
    assert await ended_by(gone) is NotRunReason.CANCELLED
    it.release("a", "c")
    assert [await response_of(first), await response_of(last)] == ["heard a", "heard c"]
    assert it.prompts == ["a", "c"]


async def test_cancelling_the_running_turn_stops_it_and_lets_the_next_begin() -> None:
    it, cancel = Held(), ManualCancel()
    gone, stays = await it.submit("a", cancel=cancel), await it.submit("b")
    await it.until_begun()
    cancel.set()
    assert await ended_by(gone) is NotRunReason.CANCELLED
    assert await it.until_begun() == "b"
    assert it.cancelled == ["a"]
    it.release("b")
    assert await response_of(stays) == "heard b"


async def test_a_turn_cancelled_before_its_first_step_does_not_hold_the_session() -> None:
    it, cancel = Held(), ManualCancel()
    gone = await it.submit("a", cancel=cancel)
    cancel.set()
    assert await ended_by(gone) is NotRunReason.CANCELLED
    it.release("b")
    assert await response_of(await it.submit("b")) == "heard b"
    assert it.prompts == ["b"]


async def test_the_next_turn_waits_until_a_cancelled_one_has_really_ended() -> None:
    cleaning, cleaned, prompts = asyncio.Event(), asyncio.Event(), list[str]()

    async def answer(prompt: str) -> str:
        prompts.append(prompt)
        try:
            await asyncio.Event().wait() if prompt == "a" else None
        finally:
            cleaning.set()
            await cleaned.wait()
        return prompt

    session, cancel = LocalSession(answer), ManualCancel()
    gone = await session.submit("a", driver_id="1", cancel=cancel)
    await asyncio.sleep(0)
    stays = await session.submit("b", driver_id="2", cancel=ManualCancel())
    cancel.set()
    assert await ended_by(gone) is NotRunReason.CANCELLED
    await cleaning.wait()
    assert prompts == ["a"]
    cleaned.set()
    assert await response_of(stays) == "b"


async def test_a_caller_that_is_gone_before_it_is_heard_is_not_queued() -> None:
    it, cancel = Held(), ManualCancel()
    cancel.set()
    assert await ended_by(await it.submit("a", cancel=cancel)) is NotRunReason.CANCELLED
    assert it.prompts == []


async def test_giving_up_the_wait_leaves_the_turn_running() -> None:
    it = Held()
    turn = await it.submit("a")
    await it.until_begun()
    waiting = asyncio.ensure_future(turn.completed)
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    it.release("a")
    assert (await response_of(turn), it.cancelled) == ("heard a", [])


@pytest.mark.parametrize("broken", ["raises", "no string", "cancels itself"])
async def test_a_turn_that_breaks_says_nothing_of_why_and_the_next_one_runs(broken: str) -> None:
    async def answer(prompt: str) -> Any:
        if prompt == "good":
            return "fine"
        if broken == "raises":
            raise ValueError("inner detail")
        if broken == "cancels itself":
            raise asyncio.CancelledError
        return 7

    session = LocalSession(answer)
    bad = await session.submit("bad", driver_id="1", cancel=ManualCancel())
    good = await session.submit("good", driver_id="2", cancel=ManualCancel())
    with pytest.raises(TurnFailed) as failed:
        await response_of(bad)
    assert "inner" not in str(failed.value)
    assert await response_of(good) == "fine"


async def test_the_owner_may_drop_what_waits_and_the_running_turn_goes_on() -> None:
    it = Held()
    running, waiting = await it.submit("a"), await it.submit("b")
    it.session.drop_waiting()
    assert await ended_by(waiting) is NotRunReason.DROPPED
    it.release("a")
    assert await response_of(running) == "heard a"


async def test_each_turn_runs_in_the_context_of_its_own_caller() -> None:
    who = contextvars.ContextVar("who", default="nobody")

    async def answer(prompt: str) -> str:
        await asyncio.sleep(0)
        return who.get()

    session, turns = LocalSession(answer), list[Any]()

    async def come(name: str) -> None:
        who.set(name)
        turns.append(await session.submit("?", driver_id=name, cancel=ManualCancel()))

    for name in ("ann", "bob"):
        await asyncio.create_task(come(name))
    assert [await response_of(turn) for turn in turns] == ["ann", "bob"]
