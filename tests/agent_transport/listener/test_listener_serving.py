"""A listener's life: binding, serving, draining, ending. Once, whatever is asked of it."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from contextlib import AsyncExitStack

import pytest

from agent_transport.admission.asgi import Receive, Scope, Send
from agent_transport.errors import (
    AlreadyStarted,
    ApplicationFailed,
    ConfigurationError,
    ListenFailed,
    StoppedWhileStarting,
)
from agent_transport.listener import ListenAddress, Listener, bind, run
from tests.agent_transport.listener.peer import (
    Application,
    Peer,
    answer,
    greet,
    peer_of,
    serving,
)

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"


class Streams:
    """Answers each request with a stream that ends only when told to."""

    def __init__(self) -> None:
        self.open = 0
        self.end = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        self.open += 1
        try:
            await self.end.wait()
            await send({"type": "http.response.body", "body": b"ended"})
        finally:
            self.open -= 1

    async def drain(self) -> None:
        self.end.set()


async def opened(listener: Listener, stack: AsyncExitStack) -> Peer:
    peer = await stack.enter_async_context(peer_of(listener))
    await peer.send(GET)
    await peer.read_until(b"begun")
    return peer


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_request_is_answered_on_the_port_that_the_system_gave(host: str) -> None:
    async with Listener(Application(greet), host=host) as listener:
        assert listener.address.host == host
        assert listener.address.port > 0
        async with peer_of(listener) as peer:
            await peer.send(GET)
            answered = (await peer.read_until(b"/a")).lower()
    assert b"date: " in answered
    assert b"server: " not in answered


def test_authority_of_an_ipv6_address_is_in_brackets() -> None:
    assert ListenAddress("::1", 80).authority == "[::1]:80"
    assert ListenAddress("127.0.0.1", 80).authority == "127.0.0.1:80"


async def test_application_lives_exactly_as_long_as_the_listener() -> None:
    app = Application(greet)
    async with Listener(app):
        assert app.lived == ["startup"]
    assert app.lived == ["startup", "shutdown"]


async def test_state_of_the_application_reaches_its_requests() -> None:
    class Stateful(Application):
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                scope["state"]["name"] = b"kept"
            await super().__call__(scope, receive, send)

    async def tell(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, scope["state"]["name"])

    async with Listener(Stateful(tell)) as listener, peer_of(listener) as peer:
        await peer.send(GET)
        await peer.read_until(b"kept")


async def test_sockets_bound_beforehand_are_served_and_closed() -> None:
    first, second = bind("127.0.0.1", 0), bind("127.0.0.1", 0)
    listener = Listener(Application(greet), sockets=[first, second])
    async with listener:
        assert len(listener.addresses) == 2
        async with peer_of(listener) as peer:
            await peer.send(GET)
            await peer.read_until(b"/a")
    assert (first.fileno(), second.fileno()) == (-1, -1)
    assert listener.addresses == ()


async def test_address_in_use_is_an_error_and_the_application_is_not_started() -> None:
    async with Listener(Application(greet)) as holder:
        app = Application(greet)
        with pytest.raises(ListenFailed, match=holder.address.authority):
            await Listener(app, port=holder.address.port).start()
        assert app.lived == []


async def test_address_taken_between_bind_and_start_is_an_error_and_all_is_ended() -> None:
    app = Application(greet)
    bound = bind("127.0.0.1", 0)
    with socket.socket() as thief:
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        thief.bind(bound.getsockname())
        thief.listen()
        with pytest.raises(ListenFailed):
            await Listener(app, sockets=[bound]).start()
    assert app.lived == ["startup", "shutdown"]


@pytest.mark.parametrize(
    ("host", "port", "field"),
    [("localhost", 0, "host"), ("", 0, "host"), ("127.0.0.1", 65536, "port")],
)
def test_only_literal_addresses_are_bound(host: str, port: int, field: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        bind(host, port)
    assert refused.value.field == field


async def test_listener_serves_once() -> None:
    listener = serving(greet)
    async with listener:
        with pytest.raises(AlreadyStarted):
            await listener.start()
    with pytest.raises(AlreadyStarted):
        await listener.start()


async def test_stop_may_come_before_the_start_and_any_number_of_times() -> None:
    listener = serving(greet)
    await listener.stop()
    await asyncio.gather(listener.stop(), listener.stop())
    with pytest.raises(AlreadyStarted):
        await listener.start()


async def test_stopping_again_and_at_once_waits_for_the_same_end() -> None:
    app = Application(greet)
    listener = Listener(app)
    await listener.start()
    await asyncio.gather(listener.stop(), listener.stop())
    await listener.stop()
    assert app.lived == ["startup", "shutdown"]


async def test_cancelled_stop_goes_on_for_the_next_caller() -> None:
    draining, release = asyncio.Event(), asyncio.Event()

    async def hook() -> None:
        draining.set()
        await release.wait()

    app = Application(greet)
    listener = Listener(app, on_drain=[hook])
    await listener.start()
    first = asyncio.create_task(listener.stop())
    await draining.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    release.set()
    await listener.stop()
    assert app.lived == ["startup", "shutdown"]


class Hanging:
    """An application that never gets ready; it notes when its start is given up."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.given_up = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.given_up = True


async def test_stop_during_start_makes_the_start_raise_and_leaves_nothing() -> None:
    app = Hanging()
    listener = Listener(app)
    starting = asyncio.create_task(listener.start())
    await app.begun.wait()
    await listener.stop()
    with pytest.raises(StoppedWhileStarting):
        await starting
    assert app.given_up
    assert listener.addresses == ()


async def test_cancelled_start_leaves_nothing() -> None:
    app = Hanging()
    listener = Listener(app)
    starting = asyncio.create_task(listener.start())
    await app.begun.wait()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert app.given_up
    assert listener.addresses == ()


async def test_application_that_never_gets_ready_is_given_up() -> None:
    app = Hanging()
    with pytest.raises(ApplicationFailed, match="did not start"):
        await Listener(app, start_bound_s=0.05).start()
    assert app.given_up


@pytest.mark.parametrize("way", ["raises", "returns", "says so"])
async def test_application_that_fails_to_start_is_never_served(way: str) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if way == "raises":
            raise RuntimeError("secret detail")
        if way == "says so":
            await send({"type": "lifespan.startup.failed", "message": "no database"})

    listener = Listener(app)
    with pytest.raises(ApplicationFailed) as failed:
        await listener.start()
    assert listener.addresses == ()
    assert "secret" not in str(failed.value)


async def test_drain_ends_20_open_streams_within_the_grace() -> None:
    streams = Streams()
    async with AsyncExitStack() as stack:
        listener = Listener(Application(streams), on_drain=[streams.drain], grace_s=5)
        await listener.start()
        peers = [await opened(listener, stack) for _ in range(20)]
        assert streams.open == 20
        began_s = time.monotonic()
        await listener.stop()
        assert time.monotonic() - began_s < 1
        ends = [await peer.read_to_end() for peer in peers]
        assert all(end.endswith(b"ended\r\n0\r\n\r\n") for end in ends)
        assert (streams.open, listener.connections) == (0, 0)


async def test_streams_that_nobody_ends_are_cut_when_the_grace_is_over() -> None:
    streams = Streams()
    async with AsyncExitStack() as stack:
        listener = Listener(Application(streams), grace_s=0.1)
        await listener.start()
        peers = [await opened(listener, stack) for _ in range(20)]
        began_s = time.monotonic()
        await listener.stop()
        assert 0.1 <= time.monotonic() - began_s < 2
        for peer in peers:
            await peer.read_to_end()
        assert (streams.open, listener.connections) == (0, 0)


async def test_drain_hook_that_hangs_or_raises_keeps_nobody_from_ending() -> None:
    cancelled = asyncio.Event()

    async def hangs() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def raises() -> None:
        raise RuntimeError("broken hook")

    app = Application(greet)
    listener = Listener(app, on_drain=[raises, hangs], grace_s=0.1)
    await listener.start()
    await listener.stop()
    assert cancelled.is_set()
    assert app.lived == ["startup", "shutdown"]


async def test_call_in_flight_is_answered_and_its_connection_closed() -> None:
    begun, release = asyncio.Event(), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        await release.wait()
        await answer(send, b"done")

    listener = serving(slow)
    await listener.start()
    async with peer_of(listener) as peer:
        address = listener.address
        await peer.send(GET)
        await begun.wait()
        stopping = asyncio.create_task(listener.stop())
        while listener.addresses:
            await asyncio.wait([stopping], timeout=0.01)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(address.host, address.port)
        release.set()
        answered = await peer.read_to_end()
        await stopping
    assert b"connection: close" in answered
    assert answered.endswith(b"done")


async def test_idle_connection_does_not_delay_the_end() -> None:
    listener = serving(greet)
    await listener.start()
    async with peer_of(listener) as peer:
        await peer.send(GET)
        await peer.read_until(b"/a")
        began_s = time.monotonic()
        await listener.stop()
        assert await peer.read_to_end() == b""
    assert time.monotonic() - began_s < 1


async def test_application_that_does_not_end_is_cancelled() -> None:
    cancelled = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "lifespan.startup.complete"})
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    listener = Listener(app, end_bound_s=0.05)
    await listener.start()
    await listener.stop()
    assert cancelled.is_set()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_signal_drains_and_ends_the_listener(number: signal.Signals) -> None:
    streams = Streams()
    async with AsyncExitStack() as stack:
        listener = Listener(Application(streams), on_drain=[streams.drain])
        await listener.start()
        await opened(listener, stack)
        asyncio.get_running_loop().call_soon(signal.raise_signal, number)
        async with asyncio.timeout(5):
            await listener.serve_until_signalled()
        assert streams.open == 0


async def test_second_signal_cuts_the_grace_short() -> None:
    streams = Streams()
    async with AsyncExitStack() as stack:
        listener = Listener(Application(streams), grace_s=60)
        await listener.start()
        await opened(listener, stack)
        loop = asyncio.get_running_loop()
        loop.call_soon(signal.raise_signal, signal.SIGTERM)
        loop.call_later(0.05, signal.raise_signal, signal.SIGTERM)
        async with asyncio.timeout(5):
            await listener.serve_until_signalled()
        assert streams.open == 0


def test_program_runs_on_uvloop() -> None:
    async def name() -> str:
        return type(asyncio.get_running_loop()).__module__

    assert run(name()).startswith("uvloop")
