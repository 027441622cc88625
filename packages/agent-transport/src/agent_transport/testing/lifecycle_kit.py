"""What every service transport must do, as checks that run under any test runner.

    @pytest.mark.parametrize("check", LIFECYCLE_CHECKS, ids=lambda check: check.__name__)
    async def test_lifecycle(check: Check) -> None:
        await check(MyUnderTest())

A check fails by raising: AssertionError for what it saw, or whatever the transport itself raised.
Nothing that must happen is waited for longer than `KIT_BOUND_S`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from agent_transport.errors import (
    AlreadyStarted,
    NotAttached,
    PeerGone,
    StartTimedOut,
    StoppedWhileStarting,
)
from agent_transport.transport import TransportAdapter

KIT_BOUND_S = 10.0
"""How long a check waits for what must happen anyway."""

CONTRACT = frozenset({"attach", "descriptor", "name", "start", "stop", "wait_closed"})


class UnderTest(Protocol):
    """A transport with everything around it in the test's hand. One for each check."""

    @property
    def transport(self) -> TransportAdapter[Any]:
        """The transport, never attached before."""
        ...

    def session(self) -> Any:
        """A session whose catalog is good and told at once."""
        ...

    def hanging_session(self) -> Any:
        """A session whose catalog is never told."""
        ...

    async def until_catalog_asked(self) -> None:
        """Return once a start waits for the catalog of the last hanging session."""
        ...

    async def pass_start_bound(self) -> None:
        """Move the transport's clock past the bound of a start that is under way."""
        ...

    def leave(self) -> None:
        """Have the peer close its end."""
        ...

    async def is_serving(self) -> bool:
        """Whether a request would be answered now."""
        ...


Check = Callable[[UnderTest], Awaitable[None]]


async def shape_is_the_contract_and_frozen(it: UnderTest) -> None:
    """Name, descriptor and four methods; nothing more, and nothing that could be altered."""
    transport, descriptor = it.transport, it.transport.descriptor
    public = {name for name in dir(transport) if not name.startswith("_")}
    assert public == CONTRACT, f"it has {sorted(public)}"
    assert transport.name == descriptor.name, "it and its descriptor have two names"
    assert descriptor.kind == "service", f"it is a {descriptor.kind}"
    for name in ("start", "stop", "wait_closed"):
        assert inspect.iscoroutinefunction(getattr(transport, name)), f"{name} is not async"
    assert not inspect.iscoroutinefunction(transport.attach), "attach is async"
    for thing, name in ((transport, "name"), (transport, "start"), (transport, "extra")):
        _assert_frozen(thing, name)
    for name in ("name", "kind", "extra"):
        _assert_frozen(descriptor, name)


async def start_before_attach_is_refused(it: UnderTest) -> None:
    await _raises(NotAttached, it.transport.start())
    assert not await it.is_serving()


async def start_returns_when_requests_are_served(it: UnderTest) -> None:
    await _started(it)
    await _bounded(it.transport.stop())
    assert not await it.is_serving()


async def start_while_started_is_refused(it: UnderTest) -> None:
    await _started(it)
    await _raises(AlreadyStarted, it.transport.start())
    assert await it.is_serving(), "a refused start must not disturb the running one"
    await _bounded(it.transport.stop())


async def start_while_starting_is_refused(it: UnderTest) -> None:
    starting = await _starting(it)
    await _raises(AlreadyStarted, it.transport.start())
    await _bounded(it.transport.stop())
    await _raises(StoppedWhileStarting, starting)


async def attach_while_active_is_refused(it: UnderTest) -> None:
    starting = await _starting(it)
    _refuses_attach(it)
    await _bounded(it.transport.stop())
    await _raises(StoppedWhileStarting, starting)
    await _started(it)
    _refuses_attach(it)
    await _bounded(it.transport.stop())


async def the_last_attach_counts(it: UnderTest) -> None:
    it.transport.attach(it.hanging_session())
    await _started(it)
    await _bounded(it.transport.stop())


async def stop_may_be_repeated_at_once_and_come_first(it: UnderTest) -> None:
    await _bounded(it.transport.stop())
    await _started(it)
    await _bounded(asyncio.gather(*(it.transport.stop() for _ in range(3))))
    await _bounded(it.transport.stop())
    assert not await it.is_serving()


async def stop_detaches(it: UnderTest) -> None:
    it.transport.attach(it.session())
    await _bounded(it.transport.stop())
    await _raises(NotAttached, it.transport.start())


async def a_new_start_needs_a_new_attach(it: UnderTest) -> None:
    await _started(it)
    await _bounded(it.transport.stop())
    await _raises(NotAttached, it.transport.start())
    await _started(it)
    await _bounded(it.transport.stop())


async def a_stop_during_start_wins(it: UnderTest) -> None:
    starting = await _starting(it)
    await _bounded(it.transport.stop())
    await _raises(StoppedWhileStarting, starting)
    assert not await it.is_serving()


async def a_stop_right_after_start_was_called_wins(it: UnderTest) -> None:
    it.transport.attach(it.session())
    starting = asyncio.ensure_future(it.transport.start())
    await asyncio.sleep(0)
    await _bounded(it.transport.stop())
    await _raises(StoppedWhileStarting, starting)
    assert not await it.is_serving()


async def a_start_that_is_cancelled_leaves_nothing(it: UnderTest) -> None:
    starting = await _starting(it)
    starting.cancel()
    await asyncio.wait([starting], timeout=KIT_BOUND_S)
    assert starting.cancelled()
    assert not await it.is_serving()
    await _raises(NotAttached, it.transport.start())


async def a_hanging_catalog_ends_the_start_at_its_bound(it: UnderTest) -> None:
    starting = await _starting(it)
    await _bounded(it.pass_start_bound())
    await _raises(StartTimedOut, starting)
    assert not await it.is_serving()
    await _raises(NotAttached, it.transport.start())


async def a_peer_that_leaves_during_start_ends_it(it: UnderTest) -> None:
    starting = await _starting(it)
    it.leave()
    await _raises(PeerGone, starting)
    assert not await it.is_serving()


async def a_peer_that_leaves_ends_the_run(it: UnderTest) -> None:
    await _started(it)
    closed = asyncio.ensure_future(it.transport.wait_closed())
    it.leave()
    await _bounded(closed)
    assert not await it.is_serving()
    await _bounded(it.transport.stop())


async def wait_closed_ends_with_stop(it: UnderTest) -> None:
    await _bounded(it.transport.wait_closed())
    await _started(it)
    closed = asyncio.ensure_future(it.transport.wait_closed())
    await asyncio.sleep(0)
    assert not closed.done()
    await _bounded(it.transport.stop())
    await _bounded(closed)


LIFECYCLE_CHECKS: tuple[Check, ...] = (
    shape_is_the_contract_and_frozen,
    start_before_attach_is_refused,
    start_returns_when_requests_are_served,
    start_while_started_is_refused,
    start_while_starting_is_refused,
    attach_while_active_is_refused,
    the_last_attach_counts,
    stop_may_be_repeated_at_once_and_come_first,
    stop_detaches,
    a_new_start_needs_a_new_attach,
    a_stop_during_start_wins,
    a_stop_right_after_start_was_called_wins,
    a_start_that_is_cancelled_leaves_nothing,
    a_hanging_catalog_ends_the_start_at_its_bound,
    a_peer_that_leaves_during_start_ends_it,
    a_peer_that_leaves_ends_the_run,
    wait_closed_ends_with_stop,
)


async def _started(it: UnderTest) -> None:
    it.transport.attach(it.session())
    await _bounded(it.transport.start())
    assert await it.is_serving(), "start returned, but nothing is served"


async def _starting(it: UnderTest) -> asyncio.Future[None]:
    it.transport.attach(it.hanging_session())
    starting = asyncio.ensure_future(it.transport.start())
    await _bounded(it.until_catalog_asked())
    return starting


def _refuses_attach(it: UnderTest) -> None:
    try:
        it.transport.attach(it.session())
    except AlreadyStarted:
        return
    raise AssertionError("attach was accepted")


async def _bounded(awaited: Awaitable[Any]) -> None:
    try:
        async with asyncio.timeout(KIT_BOUND_S):
            await awaited
    except TimeoutError as error:
        raise AssertionError("it did not end") from error


async def _raises(expected: type[Exception], awaited: Awaitable[Any]) -> None:
    try:
        await _bounded(awaited)
    except expected:
        return
    raise AssertionError(f"{expected.__name__} was not raised")


def _assert_frozen(thing: object, name: str) -> None:
    try:
        setattr(thing, name, "altered")
    except (AttributeError, TypeError):
        return
    raise AssertionError(f"{type(thing).__name__}.{name} can be altered")
