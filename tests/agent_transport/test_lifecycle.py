"""Attach, start, stop: the table, what one run does around it, and the kit that others use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import product
from typing import Any

import pytest

from agent_transport.errors import (
    AgentTransportError,
    AlreadyStarted,
    CarrierFailed,
    CloseFailed,
    NotAttached,
)
from agent_transport.lifecycle import (
    CANCEL_BOUND_S,
    SERVICE,
    SINGLE_USE,
    STOP_BOUND_S,
    Lifecycle,
    Opened,
    State,
    Step,
    Steps,
)
from agent_transport.testing import LIFECYCLE_CHECKS, Check, FakeClock, FakeSession
from agent_transport.testing.lifecycle_kit import shape_is_the_contract_and_frozen
from agent_transport.transport import ServiceTransport
from tests.agent_transport.memory_transport import MemoryTransport
from tests.specification import requirement

ASKED = (Step.ATTACH, Step.START, Step.STOP)
ACTIVE = (State.STARTING, State.SERVING, State.STOPPING)


@pytest.mark.concurrency
@pytest.mark.parametrize("check", LIFECYCLE_CHECKS, ids=lambda check: check.__name__)
async def test_a_transport_on_the_lifecycle_passes_every_check(check: Check) -> None:
    await check(MemoryTransport())


@pytest.mark.parametrize("steps", [SERVICE, SINGLE_USE], ids=["service", "single use"])
def test_each_state_that_can_be_reached_answers_every_request(steps: Steps) -> None:
    reached = {State.DETACHED} | {state for state in steps.values() if isinstance(state, State)}
    missing = {
        (state, step) for state, step in product(reached, ASKED) if (state, step) not in steps
    }
    # A host is attached by its own constructor: nobody can ask it for anything before.
    built = {(State.DETACHED, Step.START), (State.DETACHED, Step.STOP)}
    assert missing == (built if steps is SINGLE_USE else set())


@pytest.mark.parametrize("steps", [SERVICE, SINGLE_USE], ids=["service", "single use"])
def test_nothing_becomes_ready_after_a_stop(steps: Steps) -> None:
    assert [state for state, step in steps if step is Step.READY] == [State.STARTING]
    assert steps[State.STARTING, Step.STOP] is State.STOPPING


@pytest.mark.parametrize("steps", [SERVICE, SINGLE_USE], ids=["service", "single use"])
@pytest.mark.parametrize("state", ACTIVE)
def test_what_is_active_is_neither_attached_nor_started_again(steps: Steps, state: State) -> None:
    assert steps[state, Step.ATTACH] is AlreadyStarted
    assert steps[state, Step.START] is AlreadyStarted


def test_the_end_detaches_a_transport_and_spends_a_host() -> None:
    for state in ACTIVE:
        assert SERVICE[state, Step.END] is State.DETACHED
        assert SINGLE_USE[state, Step.END] is State.SPENT
    assert SERVICE[State.DETACHED, Step.START] is NotAttached
    assert SINGLE_USE[State.SPENT, Step.START] is AlreadyStarted


async def test_a_run_that_breaks_tells_whoever_waits_for_its_end() -> None:
    it = MemoryTransport()
    it.breaks = asyncio.get_running_loop().create_future()
    it.transport.attach(it.session())
    await it.transport.start()
    it.breaks.set_exception(OSError("disk"))
    with pytest.raises(CarrierFailed, match="OSError") as failed:
        await it.transport.wait_closed()
    assert isinstance(failed.value.__cause__, OSError)
    assert "disk" not in str(failed.value)
    assert not await it.is_serving()
    await it.transport.stop()


async def test_a_catalog_that_raises_fails_the_start_and_leaves_nothing() -> None:
    class Broken(FakeSession):
        async def list_runtime_tools(self) -> Any:
            raise ValueError("inner")

    @asynccontextmanager
    async def open_service(session: FakeSession) -> AsyncGenerator[Opened[None]]:
        await session.list_runtime_tools()
        yield Opened(None, asyncio.sleep(0))

    lifecycle: Lifecycle[FakeSession, None] = Lifecycle(open_service)
    lifecycle.attach(Broken())
    with pytest.raises(CarrierFailed):
        await lifecycle.start()
    assert lifecycle.state is State.DETACHED


@requirement("agent-transport/errors/failures-visible")
async def test_a_close_that_breaks_is_told_by_each_stop() -> None:
    it = MemoryTransport()
    it.closing = OSError("socket")
    it.transport.attach(it.session())
    await it.transport.start()
    for _ in range(2):
        with pytest.raises(CloseFailed):
            await it.transport.stop()
    assert it.lifecycle.state is State.DETACHED


async def test_a_close_that_hangs_is_cut_at_its_bound_and_told() -> None:
    clock, released = FakeClock(), asyncio.Event()

    @asynccontextmanager
    async def open_service(session: object) -> AsyncGenerator[Opened[None]]:
        try:
            yield Opened(None, asyncio.Event().wait())  # type: ignore[arg-type]  # never ends
        finally:
            while not released.is_set():
                try:
                    await released.wait()
                except asyncio.CancelledError:
                    continue

    lifecycle: Lifecycle[object, None] = Lifecycle(open_service, sleep=clock.sleep)
    lifecycle.attach(object())
    await lifecycle.start()
    stopping = asyncio.ensure_future(lifecycle.stop())
    for bound_s in (STOP_BOUND_S, CANCEL_BOUND_S):
        await clock.until_somebody_sleeps()
        clock.advance(bound_s)
        await asyncio.wait([stopping], timeout=0.01)
    with pytest.raises(CloseFailed, match="5 s"):
        await stopping
    released.set()
    await lifecycle.wait_closed()


async def test_a_stop_while_the_end_is_under_way_waits_for_it_undisturbed() -> None:
    cleaning, cleaned = asyncio.Event(), asyncio.Event()
    left: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    interrupted: list[str] = []

    @asynccontextmanager
    async def open_service(session: object) -> AsyncGenerator[Opened[None]]:
        yield Opened(None, left)
        cleaning.set()
        try:
            await cleaned.wait()
        except asyncio.CancelledError:
            interrupted.append("yes")
            raise

    lifecycle: Lifecycle[object, None] = Lifecycle(open_service)
    lifecycle.attach(object())
    await lifecycle.start()
    left.set_result(None)
    await cleaning.wait()
    stopping = asyncio.ensure_future(lifecycle.stop())
    await asyncio.wait([stopping], timeout=0.01)
    assert not stopping.done()
    cleaned.set()
    await stopping
    assert not interrupted


class Mutable:
    """A descriptor that anybody may alter."""

    def __init__(self) -> None:
        self.name, self.kind = "memory", "service"


class Open:
    """A transport of the right shape in which nothing is frozen."""

    def __init__(self, inner: Any) -> None:
        self.name, self.descriptor = "memory", inner.descriptor
        self.attach, self.start = inner.attach, inner.start
        self.stop, self.wait_closed = inner.stop, inner.wait_closed


class Wide(Open):
    """A transport with a method too many."""

    async def restart(self) -> None: ...


@pytest.mark.parametrize(
    ("make", "complaint"), [(Wide, "restart"), (Open, r"Open\.name can be altered")]
)
async def test_the_kit_rejects_a_transport_of_another_shape_or_unfrozen(
    make: type[Open], complaint: str
) -> None:
    it: Any = MemoryTransport()
    it.transport = make(it.transport)
    with pytest.raises(AssertionError, match=complaint):
        await shape_is_the_contract_and_frozen(it)


async def test_the_kit_rejects_a_mutable_descriptor() -> None:
    it: Any = MemoryTransport()
    mutable: Any = Mutable()
    it.transport = ServiceTransport(mutable, it.lifecycle)
    with pytest.raises(AssertionError, match=r"Mutable\.name can be altered"):
        await shape_is_the_contract_and_frozen(it)


@pytest.mark.parametrize("check", LIFECYCLE_CHECKS, ids=lambda check: check.__name__)
async def test_the_kit_rejects_a_transport_that_does_nothing(check: Check) -> None:
    class Nothing:
        """Starts and stops without a word."""

        descriptor = MemoryTransport().transport.descriptor
        name = descriptor.name

        def attach(self, session: Any) -> None: ...
        async def start(self) -> None: ...
        async def stop(self) -> None: ...
        async def wait_closed(self) -> None: ...

    it = MemoryTransport()
    it.transport = Nothing()  # pyright: ignore[reportAttributeAccessIssue]
    it.until_catalog_asked = it.pass_start_bound = _at_once  # type: ignore[method-assign]
    with pytest.raises((AssertionError, AgentTransportError)):
        await check(it)


async def _at_once() -> None:
    return None
