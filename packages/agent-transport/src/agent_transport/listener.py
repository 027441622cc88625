"""Listening: binds an address, serves one ASGI application on it, and ends in good order.

The bounds on what strangers may cost are in `connection`; this file owns the sockets, the tasks
and the end. Needs the extra `http`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from email.utils import formatdate
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import uvloop
from uvicorn._types import ASGI3Application
from uvicorn.config import Config

from agent_transport.admission.asgi import Application
from agent_transport.connection import BoundedConnection, OpenConnections
from agent_transport.errors import AlreadyStarted, ListenFailed, StoppedWhileStarting
from agent_transport.lifespan import Lifespan
from agent_transport.listen_address import ListenAddress, bind, bound_address, bound_silence
from agent_transport.socket_limits import SocketLimits

__all__ = ["DrainHook", "ListenAddress", "Listener", "SocketLimits", "bind", "run"]

DrainHook = Callable[[], Awaitable[None]]
"""Ends what would otherwise stay open for ever: streams, waiting calls. It shares the grace."""

GRACE_S = 10.0
"""How long calls in flight may take to finish once the listener stops."""

START_BOUND_S = 60.0
"""An application that has not started by then never will; a supervisor should hear of it."""

CANCEL_BOUND_S = 1.0
"""What a cancelled request may still spend on its clean-up."""

END_BOUND_S = 10.0
"""What the application's own shutdown may take: a last commit, a last flush."""

_BACKLOG = 2048
_DEFAULT_LIMITS = SocketLimits()
_log = logging.getLogger("agent_transport.listener")
_T = TypeVar("_T")


def run(main: Coroutine[Any, Any, _T]) -> _T:
    """Run a program on the event loop that the listener was measured on."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)


class Listener:
    """Serves `app` from entering the block, or `start`, until leaving it, or `stop`. Once only.

    `sockets` are bound beforehand (several processes may share one) and are closed by `stop`;
    without them `host` and `port` are bound. `on_drain` is called as the first step of stopping,
    all hooks at once, while the listener still accepts. `stop` may be called any number of times,
    at once too, and before `start`; each call returns when all has ended.
    """

    def __init__(
        self,
        app: Application,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        sockets: Sequence[socket.socket] = (),
        limits: SocketLimits = _DEFAULT_LIMITS,
        on_drain: Sequence[DrainHook] = (),
        grace_s: float = GRACE_S,
        start_bound_s: float = START_BOUND_S,
        end_bound_s: float = END_BOUND_S,
    ) -> None:
        self.on_drain = list(on_drain)
        self._host, self._port = host, port
        self._sockets = list(sockets)
        self._limits = limits
        self._grace_s = grace_s
        self._start_bound_s = start_bound_s
        self._end_bound_s = end_bound_s
        self._config = _uvicorn_config(app)
        self._lifespan = Lifespan(app)
        self._open = OpenConnections()
        self._servers: list[asyncio.Server] = []
        self._date_timer: asyncio.TimerHandle | None = None
        self._is_used = False
        self._starting: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._stop_wanted = asyncio.Event()
        self._hurry = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    @property
    def addresses(self) -> tuple[ListenAddress, ...]:
        """The bound addresses; empty before `start` and after `stop`."""
        return tuple(bound_address(bound) for bound in self._sockets if bound.fileno() != -1)

    @property
    def address(self) -> ListenAddress:
        """The first bound address."""
        return self.addresses[0]

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._open.connections)

    async def start(self) -> None:
        """Bind, start the application, then accept. Returns when requests are served.

        Raises:
            AlreadyStarted: a listener serves once.
            StoppedWhileStarting: `stop` was called meanwhile.
            ListenFailed: the address could not be bound.
            ApplicationFailed: the application did not start. Nothing is left listening.
        """
        if self._is_used:
            raise AlreadyStarted("this listener has been started or stopped before")
        self._is_used = True
        self._starting = asyncio.create_task(self._start(), name="listener start")
        try:
            await asyncio.shield(self._starting)
        except BaseException as error:
            await self.stop()
            if self._starting.cancelled() and not _is_cancelling():
                raise StoppedWhileStarting("this listener was stopped") from error
            raise

    async def stop(self) -> None:
        """Drain, stop accepting, let calls in flight finish within the grace, end the rest."""
        self._is_used = True
        if self._stopping is None:
            self._stop_wanted.set()
            self._stopping = asyncio.create_task(self._stop(), name="listener stop")
        await asyncio.shield(self._stopping)

    async def wait_stop_wanted(self) -> None:
        """Return when somebody has called `stop`, or a signal of `serve_until_signalled` came."""
        await self._stop_wanted.wait()

    async def serve_until_signalled(
        self, signals: Sequence[signal.Signals] = (signal.SIGTERM, signal.SIGINT)
    ) -> None:
        """Serve until one of the signals, then stop. A second signal cuts the grace short."""
        loop = asyncio.get_running_loop()
        for number in signals:
            loop.add_signal_handler(number, self._on_signal)
        try:
            await self.wait_stop_wanted()
            await self.stop()
        finally:
            for number in signals:
                loop.remove_signal_handler(number)

    def _on_signal(self) -> None:
        if self._stop_wanted.is_set():
            self._hurry.set()
        self._stop_wanted.set()

    # --- starting

    async def _start(self) -> None:
        if not self._sockets:
            self._sockets.append(bind(self._host, self._port))
        await self._lifespan.start(self._start_bound_s)
        self._refresh_date()
        for listening in self._sockets:
            self._servers.append(await self._accept_on(listening))

    async def _accept_on(self, listening: socket.socket) -> asyncio.Server:
        bound_silence(listening, self._limits.user_timeout_s)
        loop = asyncio.get_running_loop()
        try:
            listening.listen(_BACKLOG)  # uvloop would not tell that this failed
            return await loop.create_server(self._connection, sock=listening, backlog=_BACKLOG)
        except OSError as error:
            address = bound_address(listening).authority
            raise ListenFailed(address, error.strerror or str(error)) from error

    def _connection(self) -> BoundedConnection:
        loop = asyncio.get_running_loop()
        state = self._lifespan.state
        return BoundedConnection(self._config, self._open, state, self._limits, loop)

    def _refresh_date(self) -> None:
        now = formatdate(time.time(), usegmt=True).encode("ascii")
        self._open.default_headers = [(b"date", now)]
        self._date_timer = asyncio.get_running_loop().call_later(1.0, self._refresh_date)

    # --- stopping

    async def _stop(self) -> None:
        await self._abandon_start()
        end_at_s = asyncio.get_running_loop().time() + self._grace_s
        await self._drain(end_at_s)
        self._stop_accepting()
        await self._finish_calls(end_at_s)
        await self._end_the_rest()
        await self._lifespan.stop(self._end_bound_s)
        if self._date_timer is not None:
            self._date_timer.cancel()

    async def _abandon_start(self) -> None:
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.wait([self._starting])

    async def _drain(self, end_at_s: float) -> None:
        hooks = [asyncio.ensure_future(_guarded(hook)) for hook in self.on_drain]
        await self._wait_until(end_at_s, hooks)
        for hook in hooks:
            hook.cancel()
        await self._wait_until(_from_now(CANCEL_BOUND_S), hooks)

    def _stop_accepting(self) -> None:
        for server in self._servers:
            server.close()
        for listening in self._sockets:
            listening.close()
        for connection in list(self._open.connections):
            connection.shutdown()

    async def _finish_calls(self, end_at_s: float) -> None:
        await self._wait_until(end_at_s, list(self._open.tasks))
        closed = asyncio.ensure_future(self._open.all_closed.wait())
        await self._wait_until(end_at_s, [closed])
        closed.cancel()

    async def _end_the_rest(self) -> None:
        unfinished = list(self._open.tasks)
        if unfinished:
            _log.warning("calls_cut_short count=%d", len(unfinished))
        for task in unfinished:
            task.cancel()
        await self._wait_until(_from_now(CANCEL_BOUND_S), unfinished)
        for connection in list(self._open.connections):
            connection.transport.abort()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CANCEL_BOUND_S):
                await self._open.all_closed.wait()

    async def _wait_until(self, end_at_s: float, tasks: Sequence[asyncio.Future[Any]]) -> None:
        """Wait for all of the tasks, but neither past `end_at_s` nor past a second signal."""
        if not tasks:
            return
        hurry = asyncio.ensure_future(self._hurry.wait())
        finished = asyncio.ensure_future(asyncio.wait(tasks, timeout=_until(end_at_s)))
        await asyncio.wait([hurry, finished], return_when=asyncio.FIRST_COMPLETED)
        for waiter in (hurry, finished):
            waiter.cancel()
            await asyncio.wait([waiter])


async def _guarded(hook: DrainHook) -> None:
    try:
        await hook()
    except Exception:  # one hook's fault must not keep the others, or the stop, from ending
        _log.exception("drain_hook_failed")


def _uvicorn_config(app: Application) -> Config:
    config = Config(
        cast("ASGI3Application", app),
        http=BoundedConnection,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )
    config.load()
    return config


def _from_now(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds


def _until(at_s: float) -> float:
    return max(0.0, at_s - asyncio.get_running_loop().time())


def _is_cancelling() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
