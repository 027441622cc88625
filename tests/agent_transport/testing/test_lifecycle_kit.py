"""The lifecycle kit finds each fault that was planted, by the check that is about it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent_transport.testing import LIFECYCLE_CHECKS, Check, lifecycle_kit
from agent_transport.testing.lifecycle_kit import shape_is_the_contract_and_frozen
from agent_transport.transport import ServiceTransport, TransportDescriptor
from tests.agent_transport.memory_transport import MemoryTransport
from tests.agent_transport.testing import faulty

CHECKS = {check.__name__: check for check in LIFECYCLE_CHECKS}
SHAPE = "shape_is_the_contract_and_frozen"

PLANTED: list[tuple[faulty.Build, set[str]]] = [
    (faulty.built(faulty.StartsWithoutASession), {"start_before_attach_is_refused"}),
    (faulty.built(faulty.StartReturnsTooEarly), {"start_returns_when_requests_are_served"}),
    (
        faulty.built(faulty.StartsTwice),
        {"start_while_started_is_refused", "start_while_starting_is_refused"},
    ),
    (faulty.built(faulty.ASecondStartEndsTheFirst), {"start_while_started_is_refused"}),
    (faulty.built(faulty.AttachesAtAnyTime), {"attach_while_active_is_refused"}),
    (faulty.built(faulty.TheFirstAttachCounts), {"the_last_attach_counts"}),
    (faulty.built(faulty.StopsOnce), {"stop_may_be_repeated_at_once_and_come_first"}),
    (
        faulty.built(faulty.StopHangs),
        {"stop_may_be_repeated_at_once_and_come_first", "a_stop_during_start_wins"},
    ),
    (
        faulty.built(faulty.StopDoesNothing),
        {"start_returns_when_requests_are_served", "wait_closed_ends_with_stop"},
    ),
    (
        faulty.built(faulty.KeepsItsSession),
        {"stop_detaches", "a_new_start_needs_a_new_attach"},
    ),
    (
        faulty.built(faulty.StopLosesAgainstStart),
        {"a_stop_during_start_wins", "a_stop_right_after_start_was_called_wins"},
    ),
    (
        faulty.built(faulty.ACancelledStartGoesOn),
        {"a_start_that_is_cancelled_leaves_nothing"},
    ),
    (faulty.without_a_bound, {"a_hanging_catalog_ends_the_start_at_its_bound"}),
    (
        faulty.deaf,
        {"a_peer_that_leaves_during_start_ends_it", "a_peer_that_leaves_ends_the_run"},
    ),
    (faulty.built(faulty.ClosedBeforeItsTime), {"wait_closed_ends_with_stop"}),
    (faulty.built(faulty.NeverClosed), {"wait_closed_ends_with_stop"}),
]
CASES = [(build, name) for build, names in PLANTED for name in sorted(names)]


@asynccontextmanager
async def left_clean() -> AsyncGenerator[None]:
    """A check that fails leaves what it had under way."""
    before = asyncio.all_tasks()
    try:
        yield
    finally:
        while left := asyncio.all_tasks() - before:  # one that ends may begin the next
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle_kit, "KIT_BOUND_S", 0.3)


@pytest.mark.parametrize(("build", "name"), CASES)
async def test_a_planted_fault_fails_the_check_that_is_about_it(
    build: faulty.Build, name: str
) -> None:
    async with left_clean():
        with pytest.raises(Exception) as failed:  # noqa: PT011  # which one is the fault's choice
            await CHECKS[name](build())
    assert not isinstance(failed.value, TypeError | AttributeError)


def test_each_check_has_a_fault_that_it_finds() -> None:
    assert {name for _, name in CASES} == CHECKS.keys() - {SHAPE}


@pytest.mark.parametrize(
    "check",
    [check for check in LIFECYCLE_CHECKS if check is not shape_is_the_contract_and_frozen],
    ids=lambda check: check.__name__,
)
async def test_what_is_sound_passes_whatever_it_is_made_of(check: Check) -> None:
    await check(faulty.built(faulty.Sound)())


class Misshapen(faulty.Sound):
    def __init__(self, it: MemoryTransport, fault: str) -> None:
        super().__init__(it)
        if fault == "name":
            self.name = "other"
        elif fault == "kind":
            odd: Any = "client"
            self.descriptor = TransportDescriptor("memory", odd)
        elif fault == "attach":
            vars(self)["attach"] = super().start
        elif fault == "start":
            vars(self)["start"] = super().attach


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("name", "two names"),
        ("kind", "it is a client"),
        ("attach", "attach is async"),
        ("start", "start is not async"),
        ("none", r"Misshapen\.name can be altered"),
    ],
)
async def test_a_transport_of_another_shape_is_rejected(fault: str, complaint: str) -> None:
    it: Any = MemoryTransport()
    it.transport = Misshapen(it, fault)
    with pytest.raises(AssertionError, match=complaint):
        await shape_is_the_contract_and_frozen(it)


class Growing:
    """A descriptor whose members are fixed, and to which more can be added."""

    @property
    def name(self) -> str:
        return "memory"

    @property
    def kind(self) -> str:
        return "service"


async def test_a_descriptor_that_can_grow_is_rejected() -> None:
    it: Any = MemoryTransport()
    descriptor: Any = Growing()
    it.transport = ServiceTransport(descriptor, it.lifecycle)
    with pytest.raises(AssertionError, match=r"Growing\.extra can be altered"):
        await shape_is_the_contract_and_frozen(it)
