"""When a service may be attached, started and stopped: a table; and one run of it.

A service that was stopped, or ended by itself, is detached: the session it served may have gone
with it, so a new start needs a new attach. What serves once (a host whose bearer must not outlive
its listener) is spent instead.

A stop during a start makes that start raise; the start can no longer win, for READY has no place
after STOP.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from agent_transport.errors import (
    AgentTransportError,
    AlreadyStarted,
    CarrierFailed,
    CloseFailed,
    NotAttached,
    StartTimedOut,
    StoppedWhileStarting,
)

START_BOUND_S = 15.0
"""A session that has not told its catalog by then hangs; its owner should hear of it."""

STOP_BOUND_S = 5.0
"""What an end may take before it counts as failed."""

CANCEL_BOUND_S = 1.0
"""What is left to code that is cancelled because it exceeded a bound."""

_log = logging.getLogger("agent_transport.lifecycle")
S = TypeVar("S")
R = TypeVar("R")


class State(StrEnum):
    """Where a service stands."""

    DETACHED = "detached"
    ATTACHED = "attached"
    STARTING = "starting"
    SERVING = "serving"
    STOPPING = "stopping"
    SPENT = "spent"


class Step(StrEnum):
    """What happens to it. READY and END are its own doing."""

    ATTACH = "attach"
    START = "start"
    READY = "ready"
    STOP = "stop"
    END = "end"


Steps = Mapping[tuple[State, Step], State | type[AgentTransportError]]

_RUNNING: Steps = {
    (State.STARTING, Step.ATTACH): AlreadyStarted,
    (State.STARTING, Step.START): AlreadyStarted,
    (State.STARTING, Step.READY): State.SERVING,
    (State.STARTING, Step.STOP): State.STOPPING,
    (State.SERVING, Step.ATTACH): AlreadyStarted,
    (State.SERVING, Step.START): AlreadyStarted,
    (State.SERVING, Step.STOP): State.STOPPING,
    (State.STOPPING, Step.ATTACH): AlreadyStarted,
    (State.STOPPING, Step.START): AlreadyStarted,
    (State.STOPPING, Step.STOP): State.STOPPING,
}

SERVICE: Steps = {
    (State.DETACHED, Step.ATTACH): State.ATTACHED,
    (State.DETACHED, Step.START): NotAttached,
    (State.DETACHED, Step.STOP): State.DETACHED,
    (State.ATTACHED, Step.ATTACH): State.ATTACHED,
    (State.ATTACHED, Step.START): State.STARTING,
    (State.ATTACHED, Step.STOP): State.DETACHED,
    **_RUNNING,
    (State.STARTING, Step.END): State.DETACHED,
    (State.SERVING, Step.END): State.DETACHED,
    (State.STOPPING, Step.END): State.DETACHED,
}
"""A transport: start, stop, attach again, start again."""

SINGLE_USE: Steps = {
    (State.DETACHED, Step.ATTACH): State.ATTACHED,
    (State.ATTACHED, Step.ATTACH): AlreadyStarted,
    (State.ATTACHED, Step.START): State.STARTING,
    (State.ATTACHED, Step.STOP): State.SPENT,
    **_RUNNING,
    (State.STARTING, Step.END): State.SPENT,
    (State.SERVING, Step.END): State.SPENT,
    (State.STOPPING, Step.END): State.SPENT,
    (State.SPENT, Step.ATTACH): AlreadyStarted,
    (State.SPENT, Step.START): AlreadyStarted,
    (State.SPENT, Step.STOP): State.SPENT,
}
"""A host: attached when it is built, started once."""

_WHY: Mapping[type[AgentTransportError], str] = {
    AlreadyStarted: "this is running, or has been used and serves once",
    NotAttached: "attach a session before start",
}


@dataclass(frozen=True, slots=True)
class Opened(Generic[R]):
    """A service that can serve: what its start returns, and when it ends by itself.

    `closed` raises what broke the service.
    """

    value: R
    closed: Awaitable[None]


Open = Callable[[S], AbstractAsyncContextManager[Opened[R]]]
"""Entering the block starts the service, leaving it ends it.

Entering is cancelled by a stop, and must then have undone all it did.
"""

Sleep = Callable[[float], Awaitable[None]]


class _Run(Generic[R]):
    """One run, from start to end."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[R] = loop.create_future()
        self.stop_wanted: asyncio.Future[None] = loop.create_future()
        self.failure: Exception | None = None
        self.task: asyncio.Task[None]
        self.is_entering = True
        self.was_stopped = False

    def want_stop(self) -> None:
        """Cancel what is still being entered; end in good order what serves."""
        if self.was_stopped:
            return
        self.was_stopped = True
        if self.is_entering:
            self.task.cancel()
        elif not self.stop_wanted.done():
            self.stop_wanted.set_result(None)


class Lifecycle(Generic[S, R]):
    """Keeps one service to the table. Belongs to one event loop."""

    def __init__(
        self,
        open_service: Open[S, R],
        *,
        steps: Steps = SERVICE,
        sleep: Sleep = asyncio.sleep,
        start_bound_s: float = START_BOUND_S,
        stop_bound_s: float = STOP_BOUND_S,
    ) -> None:
        self.state = State.DETACHED
        self._open = open_service
        self._steps = steps
        self._sleep = sleep
        self._start_bound_s = start_bound_s
        self._stop_bound_s = stop_bound_s
        self._session: S | None = None
        self._run: _Run[R] | None = None

    def attach(self, session: S) -> None:
        """Say what the next start serves."""
        self._take(Step.ATTACH)
        self._session = session

    async def start(self) -> R:
        """Start a run and return what it opened, once it serves."""
        self._take(Step.START)
        session, self._session = self._session, None
        assert session is not None, "the table lets nothing start that was not attached"
        run = self._run = _Run[R]()
        run.task = asyncio.create_task(self._serve(run, session), name="service")
        try:
            in_time = await self._within(self._start_bound_s, run.ready, run.task)
        except asyncio.CancelledError:
            # Whoever waited has given up: nothing may become ready behind its back.
            await self._end(run)
            raise
        if not in_time:
            await self._end(run)
            raise StartTimedOut(f"the start was not done within {self._start_bound_s:g} s")
        return await self._outcome(run)

    async def stop(self) -> None:
        """End the present run, if there is one; return when it has ended."""
        self._take(Step.STOP)
        self._session = None
        run = self._run
        if run is None:
            return
        await self._end(run)
        if not run.task.done():
            raise CloseFailed(f"it did not end within {self._stop_bound_s:g} s")
        if isinstance(run.failure, CloseFailed):
            raise run.failure

    async def wait_closed(self) -> None:
        """Return when the present or last run is over; raise what broke it."""
        run = self._run
        if run is None:
            return
        await asyncio.wait([run.task])
        if run.failure is not None:
            raise run.failure

    # --- the table

    def _take(self, step: Step) -> None:
        target = self._steps[self.state, step]
        if not isinstance(target, State):
            raise target(_WHY[target])
        self.state = target

    # --- one run

    async def _serve(self, run: _Run[R], session: S) -> None:
        try:
            async with self._open(session) as opened:
                run.is_entering = False
                if not run.was_stopped:
                    self._take(Step.READY)
                    run.ready.set_result(opened.value)
                    await self._until_over(run, opened.closed)
        except asyncio.CancelledError:
            if not run.was_stopped:  # cancelled from outside, with the whole program
                run.was_stopped = True
                raise
        except AgentTransportError as error:
            run.failure = error
        except Exception as error:
            _log.exception("service_failed")
            run.failure = _visible(run, error)
        finally:
            self._take(Step.END)
            run.ready.cancel()
            run.stop_wanted.cancel()

    async def _until_over(self, run: _Run[R], closed: Awaitable[None]) -> None:
        ended = asyncio.ensure_future(closed)
        try:
            await asyncio.wait([run.stop_wanted, ended], return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                ended.result()
        finally:
            if not ended.done():
                ended.cancel()
                await asyncio.wait([ended])

    async def _outcome(self, run: _Run[R]) -> R:
        if not run.ready.done():
            await self._end(run)  # the task is ending; nothing is asked of it here
        if self._is_serving(run):
            return run.ready.result()
        await self._end(run)
        if run.failure is not None:
            raise run.failure
        raise StoppedWhileStarting("it was stopped before it could serve")

    def _is_serving(self, run: _Run[R]) -> bool:
        return not run.was_stopped and run.ready.done() and not run.ready.cancelled()

    async def _end(self, run: _Run[R]) -> None:
        """Stop the run and wait for its end, not longer than the bounds allow."""
        if self.state in (State.STARTING, State.SERVING):
            self._take(Step.STOP)
        run.want_stop()
        if await self._within(self._stop_bound_s, run.task):
            return
        _log.error("service_overdue")
        run.task.cancel()
        await self._within(CANCEL_BOUND_S, run.task)

    async def _within(
        self, seconds: float, *awaited: asyncio.Future[R] | asyncio.Task[None]
    ) -> bool:
        """Wait for the first of `awaited`; False when the time was up before."""
        bound = asyncio.ensure_future(self._sleep(seconds))
        try:
            await asyncio.wait([*awaited, bound], return_when=asyncio.FIRST_COMPLETED)
        finally:
            bound.cancel()
            await asyncio.wait([bound])
        return any(future.done() for future in awaited)


def _visible(run: _Run[R], error: Exception) -> Exception:
    """An unexpected error as the owner sees it: by when it came, with its cause."""
    kind = CloseFailed if run.was_stopped else CarrierFailed
    visible = kind(f"the service broke: {type(error).__name__}")
    visible.__cause__ = error
    return visible
