"""The session port, and the fakes that stand in for a session."""

from __future__ import annotations

import asyncio

import pytest

from agent_transport.errors import NotRunReason, SessionBusy, TurnNotRun
from agent_transport.mcp.call import EndReason, EndSignal
from agent_transport.session import CancelSignal, McpTransportSession, ToolEnvelope
from agent_transport.testing import FakeClock, FakeSession, ManualCancel

SIGNALS = (ManualCancel, EndSignal)


def raise_signal(signal: ManualCancel | EndSignal) -> None:
    if isinstance(signal, EndSignal):
        signal.set(EndReason.CANCELLED)
    else:
        signal.set()


@pytest.mark.parametrize("kind", SIGNALS)
async def test_a_signal_tells_each_who_asked_once_and_latecomers_at_once(
    kind: type[ManualCancel] | type[EndSignal],
) -> None:
    signal, told = kind(), list[str]()
    kept: CancelSignal = signal
    kept.on_set(lambda: told.append("first"))
    forget = kept.on_set(lambda: told.append("forgotten"))
    waiting = asyncio.ensure_future(signal.wait())
    await asyncio.sleep(0)
    forget()
    forget()
    assert not kept.is_set()
    raise_signal(signal)
    raise_signal(signal)
    await waiting
    kept.on_set(lambda: told.append("late"))()
    assert told == ["first", "late"]
    assert kept.is_set()


@pytest.mark.parametrize(
    ("envelope", "told"),
    [
        (ToolEnvelope(True), {"success": True}),
        (ToolEnvelope(True, result=0), {"success": True, "result": 0}),
        (ToolEnvelope(True, result=False), {"success": True, "result": False}),
        (ToolEnvelope(False, error=""), {"success": False, "error": ""}),
        (
            ToolEnvelope(False, error="no", metadata={}),
            {"success": False, "error": "no", "metadata": {}},
        ),
    ],
)
def test_an_envelope_has_the_members_it_was_given(
    envelope: ToolEnvelope, told: dict[str, object]
) -> None:
    assert envelope.as_json() == told


async def test_the_fake_session_answers_each_caller_its_own() -> None:
    session = FakeSession()
    port: McpTransportSession = session
    first = await port.submit("a", driver_id="1", cancel=ManualCancel())
    second = await port.submit("b", driver_id="2", cancel=ManualCancel())
    assert (await second.completed).response == "heard: b"
    assert (await first.completed).response == "heard: a"


async def test_the_fake_session_objects_to_a_driver_that_comes_twice() -> None:
    session = FakeSession()
    await session.submit("a", driver_id="1", cancel=ManualCancel())
    with pytest.raises(AssertionError, match="drivers come once"):
        await session.submit("b", driver_id="1", cancel=ManualCancel())


async def test_the_fake_session_cancels_the_turn_whose_signal_is_set_and_no_other() -> None:
    session = FakeSession(manual_turns=True)
    cancel = ManualCancel()
    first = await session.submit("a", driver_id="1", cancel=cancel)
    second = await session.submit("b", driver_id="2", cancel=ManualCancel())
    cancel.set()
    with pytest.raises(TurnNotRun) as ended:
        await first.completed
    assert ended.value.reason is NotRunReason.CANCELLED
    session.turns[1].answer("done")
    assert (await second.completed).response == "done"


async def test_giving_up_the_wait_for_a_turn_leaves_the_turn_alone() -> None:
    session = FakeSession(manual_turns=True)
    turn = await session.submit("a", driver_id="1", cancel=ManualCancel())
    waiting = asyncio.ensure_future(turn.completed)
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    session.turns[0].answer("done")
    assert (await turn.completed).response == "done"


async def test_a_busy_fake_session_says_so() -> None:
    session = FakeSession()
    session.busy = True
    with pytest.raises(SessionBusy):
        await session.submit("a", driver_id="1", cancel=ManualCancel())
    with pytest.raises(SessionBusy):
        await session.invoke_runtime_tool("echo", {}, cancel=ManualCancel())
    assert session.invoked == []


async def test_the_fake_clock_wakes_only_whoever_slept_long_enough() -> None:
    clock = FakeClock(at_s=0.0)
    short, long = (asyncio.ensure_future(clock.sleep(s)) for s in (1.0, 2.0))
    await clock.until_somebody_sleeps()
    await asyncio.sleep(0)
    clock.advance(1.5)
    await short
    assert (clock.now(), clock.sleepers, long.done()) == (1.5, 1, False)
    clock.advance(0.5)
    await long
    with pytest.raises(ValueError, match="forwards"):
        clock.advance(-1)
