"""What every session must do for its callers, as checks that run under any test runner.

    @pytest.mark.parametrize("check", SESSION_CHECKS, ids=lambda check: check.__name__)
    async def test_session(check: SessionCheck) -> None:
        await check(MySessionUnderTest())

A check fails by raising: AssertionError for what it saw, or whatever the session itself raised.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from agent_transport.errors import NotRunReason, SessionBusy, TurnNotRun
from agent_transport.session import JsonObject, McpTransportSession, TurnHandle
from agent_transport.testing.manual_cancel import ManualCancel

SESSION_BOUND_S = 10.0
"""How long a check waits for what must happen anyway."""

T = TypeVar("T")


class SessionUnderTest(Protocol):
    """A session with its agent in the test's hand. One for each check."""

    @property
    def session(self) -> McpTransportSession:
        """The session, not used before."""
        ...

    @property
    def allowed_tool(self) -> tuple[str, JsonObject]:
        """A tool that callers may use, and arguments with which it succeeds."""
        ...

    def answer_to(self, prompt: str) -> str:
        """What the agent will answer."""
        ...

    async def until_begun(self, prompt: str) -> None:
        """Return once the turn with this prompt runs. It may not end before `release`."""
        ...

    def release(self) -> None:
        """Let all turns end, those too that begin later."""
        ...


SessionCheck = Callable[[SessionUnderTest], Awaitable[None]]


async def the_catalog_has_tools_of_different_names_with_object_schemas(
    it: SessionUnderTest,
) -> None:
    tools = await it.session.list_runtime_tools()
    names = [tool.name for tool in tools]
    assert len(names) == len(set(names)), "two tools have one name"
    assert it.allowed_tool[0] in names, "the allowed tool is not in the catalog"
    for tool in tools:
        assert tool.parameters.get("type") == "object", f"{tool.name} has no object schema"


async def all_callers_at_once_are_answered_in_order_each_its_own(it: SessionUnderTest) -> None:
    prompts, ended = ("a", "b", "c"), list[str]()
    turns = [await _submit(it, prompt) for prompt in prompts]
    assert len({turn.turn_id for turn in turns}) == len(turns), "two turns have one id"
    waits = [asyncio.ensure_future(_noted(turn, ended)) for turn in turns]
    await _bounded(it.until_begun("a"))
    it.release()
    await _bounded(asyncio.gather(*waits))
    assert ended == [it.answer_to(prompt) for prompt in prompts], f"answered {ended}"


async def giving_up_the_wait_leaves_the_turn_running(it: SessionUnderTest) -> None:
    turn = await _submit(it, "a")
    await _bounded(it.until_begun("a"))
    waiting = asyncio.ensure_future(_noted(turn, []))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    it.release()
    assert await _answer(turn) == it.answer_to("a")
    assert await _answer(turn) == it.answer_to("a"), "the end can be awaited once only"


async def cancelling_the_running_turn_spares_the_next(it: SessionUnderTest) -> None:
    cancel = ManualCancel()
    gone, stays = await _submit(it, "a", cancel), await _submit(it, "b")
    await _bounded(it.until_begun("a"))
    cancel.set()
    await _is_cancelled(gone)
    it.release()
    assert await _answer(stays) == it.answer_to("b")


async def cancelling_a_waiting_turn_spares_the_others(it: SessionUnderTest) -> None:
    cancel = ManualCancel()
    first = await _submit(it, "a")
    gone, last = await _submit(it, "b", cancel), await _submit(it, "c")
    await _bounded(it.until_begun("a"))
    cancel.set()
    await _is_cancelled(gone)
    it.release()
    assert await _answer(first) == it.answer_to("a")
    assert await _answer(last) == it.answer_to("c")


async def a_caller_that_is_gone_already_is_told_cancelled(it: SessionUnderTest) -> None:
    cancel = ManualCancel()
    cancel.set()
    await _is_cancelled(await _submit(it, "a", cancel))


async def a_tool_is_busy_during_a_turn_and_works_after_it(it: SessionUnderTest) -> None:
    name, arguments = it.allowed_tool
    turn = await _submit(it, "a")
    await _bounded(it.until_begun("a"))
    try:
        await _bounded(it.session.invoke_runtime_tool(name, arguments, cancel=ManualCancel()))
    except SessionBusy:
        pass  # what a session owes while a turn runs
    else:
        raise AssertionError("a tool ran during a turn")
    it.release()
    await _answer(turn)
    call = it.session.invoke_runtime_tool(name, arguments, cancel=ManualCancel())
    envelope = await _bounded(call)
    assert envelope.success, f"the allowed tool failed: {envelope.error}"


SESSION_CHECKS: tuple[SessionCheck, ...] = (
    the_catalog_has_tools_of_different_names_with_object_schemas,
    all_callers_at_once_are_answered_in_order_each_its_own,
    giving_up_the_wait_leaves_the_turn_running,
    cancelling_the_running_turn_spares_the_next,
    cancelling_a_waiting_turn_spares_the_others,
    a_caller_that_is_gone_already_is_told_cancelled,
    a_tool_is_busy_during_a_turn_and_works_after_it,
)

_drivers = map("kit-{}".format, itertools.count(1))


async def _submit(
    it: SessionUnderTest, prompt: str, cancel: ManualCancel | None = None
) -> TurnHandle:
    driver_id, cancel = next(_drivers), cancel or ManualCancel()
    return await _bounded(it.session.submit(prompt, driver_id=driver_id, cancel=cancel))


async def _noted(turn: TurnHandle, ended: list[str]) -> None:
    ended.append((await turn.completed).response)


async def _answer(turn: TurnHandle) -> str:
    return (await _bounded(turn.completed)).response


async def _is_cancelled(turn: TurnHandle) -> None:
    reason: NotRunReason | None = None
    try:
        await _bounded(turn.completed)
    except TurnNotRun as ended:
        reason = ended.reason
    assert reason is NotRunReason.CANCELLED, f"a cancelled turn was {reason or 'answered'}"


async def _bounded(awaited: Awaitable[T]) -> T:
    """The outcome; what does not come in time, or ends with somebody else's wait, is a fault."""
    outcome = asyncio.ensure_future(awaited)
    await asyncio.wait([outcome], timeout=SESSION_BOUND_S)
    assert outcome.done(), "it did not end"
    assert not outcome.cancelled(), "it was cancelled"
    return outcome.result()
