"""When the stdio transport starts and stops: the lifecycle kit, and the races of its two pipes."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from mcp.shared.message import SessionMessage

from agent_transport.errors import (
    CarrierFailed,
    CatalogInvalid,
    CloseFailed,
    NotAttached,
    PeerGone,
    StoppedWhileStarting,
)
from agent_transport.lifecycle import START_BOUND_S, STOP_BOUND_S
from agent_transport.mcp.line_messages import LineInbox
from agent_transport.mcp.standard_streams import Wire
from agent_transport.mcp.stdio import create_mcp_transport
from agent_transport.session import (
    CancelSignal,
    JsonObject,
    McpTransportSession,
    ToolEnvelope,
)
from agent_transport.testing import LIFECYCLE_CHECKS, Check, FakeClock, FakeSession
from agent_transport.testing.fake_session import ECHO
from agent_transport.transport import ServiceTransport, TransportAdapter
from tests.agent_transport.mcp.agent_server import INITIALIZE
from tests.agent_transport.mcp.pipes import PipePeer, pipe_peer
from tests.agent_transport.mcp.wire_client import BOUND_S
from tests.specification import requirement


class StdioUnderTest:
    """Implements `UnderTest` over two pipes."""

    def __init__(self, peer: PipePeer) -> None:
        self.peer = peer
        self.clock = FakeClock()
        self.transport = create_mcp_transport(wire=peer.wire, sleep=self.clock.sleep)
        self.hanging = FakeSession()
        self._ids = itertools.count(1000)

    def session(self) -> FakeSession:
        return FakeSession()

    def hanging_session(self) -> FakeSession:
        self.hanging = FakeSession()
        self.hanging.catalog_gate.clear()
        return self.hanging

    async def until_catalog_asked(self) -> None:
        await self.hanging.catalog_asked.wait()

    async def pass_start_bound(self) -> None:
        await self.clock.until_somebody_sleeps()
        self.clock.advance(START_BOUND_S + 0.001)

    def leave(self) -> None:
        self.peer.leave()

    async def is_serving(self) -> bool:
        """Ask; what does not serve is over, so that waiting for its end is no waiting at all."""
        if self.peer.is_gone:
            return False
        request_id = next(self._ids)
        self.peer.ask("ping", request_id=request_id)
        answered = asyncio.ensure_future(self.peer.answer(request_id))
        over = asyncio.ensure_future(self.transport.wait_closed())
        try:
            await asyncio.wait([answered, over], return_when=asyncio.FIRST_COMPLETED)
            return answered.done()
        finally:
            for task in (answered, over):
                task.cancel()
            await asyncio.gather(answered, over, return_exceptions=True)


@pytest_asyncio.fixture
async def it() -> AsyncGenerator[StdioUnderTest]:
    with pipe_peer() as peer:
        under_test = StdioUnderTest(peer)
        yield under_test
        await under_test.transport.stop()


@pytest.mark.concurrency
@requirement(
    "agent-transport/lifecycle/frozen",
    "agent-transport/lifecycle/start-means-serving",
    "agent-transport/lifecycle/start-cancellable",
    "agent-transport/lifecycle/start-bounded",
    "agent-transport/lifecycle/start-before-attach",
    "agent-transport/lifecycle/start-twice",
    "agent-transport/lifecycle/stop-twice",
    "agent-transport/lifecycle/restart-needs-attach",
)
@pytest.mark.parametrize("check", LIFECYCLE_CHECKS, ids=lambda check: check.__name__)
async def test_stdio_keeps_to_the_lifecycle_of_every_transport(
    check: Check, it: StdioUnderTest
) -> None:
    await check(it)


@requirement("agent-transport/boundary/adapter-contract")
def test_what_is_created_is_the_transport_contract() -> None:
    with pipe_peer() as peer:
        transport: TransportAdapter[McpTransportSession] = create_mcp_transport(wire=peer.wire)
    assert type(transport) is ServiceTransport
    assert (transport.name, transport.descriptor.kind) == ("mcp", "service")


@requirement("agent-transport/lifecycle/start-checks-catalog")
async def test_a_bad_catalog_fails_the_start_and_nothing_is_answered(it: StdioUnderTest) -> None:
    it.transport.attach(FakeSession([ECHO, ECHO]))
    it.peer.ask("ping", request_id=1)
    with pytest.raises(CatalogInvalid, match="echo"):
        await it.transport.start()
    it.transport.attach(FakeSession())
    await it.transport.start()
    assert await it.is_serving()


@pytest.mark.concurrency
async def test_what_was_written_before_readiness_is_answered_after_it(it: StdioUnderTest) -> None:
    session = it.hanging_session()
    it.transport.attach(session)
    it.peer.ask("initialize", INITIALIZE, request_id=1)
    it.peer.tell("notifications/initialized")
    it.peer.call("echo", request_id=2, text="early")
    starting = asyncio.ensure_future(it.transport.start())
    await session.catalog_asked.wait()
    assert session.invoked == []
    session.catalog_gate.set()
    await starting
    assert (await it.peer.answer(1))["result"]["capabilities"] == {"tools": {}}
    assert "early" in (await it.peer.answer(2))["result"]["content"][0]["text"]


@pytest.mark.concurrency
async def test_a_client_that_stops_reading_ends_a_pending_start(it: StdioUnderTest) -> None:
    it.transport.attach(it.hanging_session())
    starting = asyncio.ensure_future(it.transport.start())
    await it.until_catalog_asked()
    it.peer.stop_reading()
    with pytest.raises(PeerGone):
        await starting


@pytest.mark.concurrency
async def test_a_client_that_stops_reading_ends_the_run_though_nothing_is_written(
    it: StdioUnderTest,
) -> None:
    it.transport.attach(FakeSession())
    await it.transport.start()
    closed = asyncio.ensure_future(it.transport.wait_closed())
    it.peer.stop_reading()
    async with asyncio.timeout(BOUND_S):
        await closed


@pytest.mark.concurrency
async def test_an_end_of_input_before_the_start_ends_it(it: StdioUnderTest) -> None:
    it.transport.attach(it.hanging_session())
    it.peer.leave()
    with pytest.raises(PeerGone):
        await it.transport.start()


@pytest.mark.concurrency
async def test_stop_and_end_of_input_at_once_leave_nothing(it: StdioUnderTest) -> None:
    it.transport.attach(it.hanging_session())
    starting = asyncio.ensure_future(it.transport.start())
    await it.until_catalog_asked()
    it.peer.leave()
    await it.transport.stop()
    with pytest.raises((PeerGone, StoppedWhileStarting)):
        await starting
    it.hanging.catalog_gate.set()
    await it.transport.wait_closed()


async def test_a_stop_ends_calls_in_flight_and_answers_them(it: StdioUnderTest) -> None:
    session = FakeSession(manual_turns=True)
    it.transport.attach(session)
    await it.transport.start()
    await it.peer.open_session()
    it.peer.call("agent_submit", request_id=2, prompt="x")
    turn = await session.submitted.get()
    await it.transport.stop()
    assert turn.cancel.is_set()
    assert "error" in await it.peer.answer(2)


async def test_a_stop_does_not_wait_for_a_client_that_reads_nothing(it: StdioUnderTest) -> None:
    session, invoked = FakeSession(), asyncio.Queue[str]()

    async def invoke(name: str, arguments: JsonObject, cancel: CancelSignal) -> ToolEnvelope:
        invoked.put_nowait(name)
        return ToolEnvelope(True, result=arguments)

    session.invoke = invoke
    it.transport.attach(session)
    await it.transport.start()
    await it.peer.open_session()
    for number in range(4):
        it.peer.call("echo", request_id=number + 2, text="x" * 50_000)
        await invoked.get()
    async with asyncio.timeout(BOUND_S):
        await it.transport.stop()


async def test_a_wire_that_is_none_fails_the_start(it: StdioUnderTest) -> None:
    closed = Wire(it.peer.wire.inbound, 1_000_000)
    transport = create_mcp_transport(wire=closed)
    transport.attach(FakeSession())
    with pytest.raises(CarrierFailed):
        await transport.start()
    with pytest.raises(NotAttached):
        await transport.start()


async def test_a_carrier_that_breaks_ends_the_run_and_says_so(
    it: StdioUnderTest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def break_(_: LineInbox) -> SessionMessage | Exception:
        raise MemoryError

    it.transport.attach(FakeSession())
    await it.transport.start()
    await it.peer.open_session()
    closed = asyncio.ensure_future(it.transport.wait_closed())
    monkeypatch.setattr(LineInbox, "receive", break_)
    it.peer.ask("ping", request_id=2)
    async with asyncio.timeout(BOUND_S):
        with pytest.raises(CarrierFailed):
            await closed
    assert "service_failed" in caplog.text
    monkeypatch.undo()
    it.transport.attach(FakeSession())
    await it.transport.start()
    assert await it.is_serving()


async def test_a_tool_that_will_not_end_makes_the_stop_fail_in_time() -> None:
    session, running, released = FakeSession(), asyncio.Event(), asyncio.Event()

    async def invoke(name: str, arguments: JsonObject, cancel: CancelSignal) -> ToolEnvelope:
        running.set()
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        return ToolEnvelope(True)

    session.invoke = invoke
    with pipe_peer() as peer:
        it = StdioUnderTest(peer)
        it.transport.attach(session)
        await it.transport.start()
        await it.peer.open_session()
        it.peer.call("echo", request_id=2, text="x")
        await running.wait()
        stopping = asyncio.ensure_future(it.transport.stop())
        try:
            await it.clock.until_somebody_sleeps()
            it.clock.advance(STOP_BOUND_S)
            async with asyncio.timeout(BOUND_S):
                with pytest.raises(CloseFailed):
                    await stopping
                with pytest.raises(CloseFailed):
                    await it.transport.wait_closed()
        finally:
            released.set()


async def test_a_tool_may_stop_the_transport_that_serves_it(it: StdioUnderTest) -> None:
    session = FakeSession()

    async def invoke(name: str, arguments: JsonObject, cancel: CancelSignal) -> ToolEnvelope:
        await it.transport.stop()
        return ToolEnvelope(True)

    session.invoke = invoke
    it.transport.attach(session)
    await it.transport.start()
    await it.peer.open_session()
    it.peer.call("echo", request_id=2, text="x")
    async with asyncio.timeout(BOUND_S):
        await it.transport.wait_closed()
