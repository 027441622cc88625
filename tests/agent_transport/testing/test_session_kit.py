"""The session kit passes the session of this package, and finds each fault that was planted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from agent_transport.errors import NotRunReason, SessionBusy, TurnNotRun
from agent_transport.session import JsonObject, RuntimeTool, ToolEnvelope, TurnResult
from agent_transport.testing import SESSION_CHECKS, ManualCancel, SessionCheck, session_kit
from tests.agent_transport.local_session.sessions import Held
from tests.agent_transport.testing.test_lifecycle_kit import left_clean

CHECKS = {check.__name__: check for check in SESSION_CHECKS}


class LocalUnderTest(Held):
    """Implements `SessionUnderTest`."""

    allowed_tool: tuple[str, JsonObject] = ("held", {})

    def answer_to(self, prompt: str) -> str:
        return f"heard {prompt}"

    async def until_begun(self, prompt: str = "") -> str:
        assert await super().until_begun() == prompt
        return prompt

    def release(self, *what: str) -> None:
        super().release("a", "b", "c", "tool")


class Passes:
    """A session that passes everything on."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.cancels: list[ManualCancel] = []

    async def submit(self, prompt: str, *, driver_id: str, cancel: ManualCancel) -> Any:
        self.cancels.append(cancel)
        return await self.inner.submit(prompt, driver_id=driver_id, cancel=cancel)

    async def list_runtime_tools(self) -> Sequence[RuntimeTool]:
        return await self.inner.list_runtime_tools()

    async def invoke_runtime_tool(
        self, name: str, arguments: JsonObject, *, cancel: ManualCancel
    ) -> ToolEnvelope:
        return await self.inner.invoke_runtime_tool(name, arguments, cancel=cancel)


class Doubles(Passes):
    async def list_runtime_tools(self) -> Sequence[RuntimeTool]:
        return [*await super().list_runtime_tools()] * 2


class MergesDrivers(Passes):
    async def submit(self, prompt: str, *, driver_id: str, cancel: ManualCancel) -> Any:
        return await super().submit(prompt, driver_id="one for all", cancel=cancel)


class CancelsAll(Passes):
    async def submit(self, prompt: str, *, driver_id: str, cancel: ManualCancel) -> Any:
        turn = await super().submit(prompt, driver_id=driver_id, cancel=cancel)
        cancel.on_set(lambda: [other.set() for other in self.cancels])
        return turn


class IgnoresCancel(Passes):
    async def submit(self, prompt: str, *, driver_id: str, cancel: ManualCancel) -> Any:
        return await super().submit(prompt, driver_id=driver_id, cancel=ManualCancel())


class EndsWithItsWaiter(Passes):
    async def submit(self, prompt: str, *, driver_id: str, cancel: ManualCancel) -> Any:
        return Fragile(await super().submit(prompt, driver_id=driver_id, cancel=cancel))


class Fragile:
    """A handle whose end is lost with whoever waited for it."""

    def __init__(self, turn: Any) -> None:
        self.turn_id: str = turn.turn_id
        self.completed: asyncio.Future[TurnResult] = turn.settled


class NeverBusy(Passes):
    async def invoke_runtime_tool(
        self, name: str, arguments: JsonObject, *, cancel: ManualCancel
    ) -> ToolEnvelope:
        return ToolEnvelope(True)


class AlwaysBusy(Passes):
    async def invoke_runtime_tool(
        self, name: str, arguments: JsonObject, *, cancel: ManualCancel
    ) -> ToolEnvelope:
        raise SessionBusy("always")


class DropsTheGone(Passes):
    async def submit(self, prompt: str, *, driver_id: str, cancel: ManualCancel) -> Any:
        if cancel.is_set():
            raise TurnNotRun(NotRunReason.DROPPED)
        return await super().submit(prompt, driver_id=driver_id, cancel=cancel)


PLANTED: list[tuple[type[Passes], str]] = [
    (Doubles, "the_catalog_has_tools_of_different_names_with_object_schemas"),
    (MergesDrivers, "all_callers_at_once_are_answered_in_order_each_its_own"),
    (EndsWithItsWaiter, "giving_up_the_wait_leaves_the_turn_running"),
    (CancelsAll, "cancelling_the_running_turn_spares_the_next"),
    (IgnoresCancel, "cancelling_the_running_turn_spares_the_next"),
    (CancelsAll, "cancelling_a_waiting_turn_spares_the_others"),
    (IgnoresCancel, "cancelling_a_waiting_turn_spares_the_others"),
    (DropsTheGone, "a_caller_that_is_gone_already_is_told_cancelled"),
    (NeverBusy, "a_tool_is_busy_during_a_turn_and_works_after_it"),
    (AlwaysBusy, "a_tool_is_busy_during_a_turn_and_works_after_it"),
]


@pytest.mark.parametrize("check", SESSION_CHECKS, ids=lambda check: check.__name__)
async def test_the_local_session_passes_every_check(check: SessionCheck) -> None:
    it: Any = LocalUnderTest()
    await check(it)


@pytest.mark.parametrize("check", SESSION_CHECKS, ids=lambda check: check.__name__)
async def test_what_passes_everything_on_passes_every_check(check: SessionCheck) -> None:
    it: Any = LocalUnderTest()
    it.session = Passes(it.session)
    await check(it)


@pytest.mark.parametrize(("kind", "name"), PLANTED)
async def test_a_planted_fault_fails_the_check_that_is_about_it(
    kind: type[Passes], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_kit, "SESSION_BOUND_S", 0.3)
    it: Any = LocalUnderTest()
    it.session = kind(it.session)
    async with left_clean():
        with pytest.raises(Exception) as failed:  # noqa: PT011  # which one is the fault's choice
            await CHECKS[name](it)
    assert not isinstance(failed.value, TypeError | AttributeError)


def test_each_check_has_a_fault_that_it_finds() -> None:
    assert {name for _, name in PLANTED} == CHECKS.keys()
