"""A session in this process: one agent, its tools, one turn at a time.

    submit ──► waiting (32, first in first out) ──► running (1) ──► settled
                  │ cancel, drop, merge                │ cancel
                  └────────────► settled, never ran    └──► settled at once; the next turn
                                                            starts when this one has ended

A turn has the session to itself: tools are refused while one runs or waits, and a turn that is
submitted during a tool call begins when the call is over. Belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from agent_transport.errors import (
    ConfigurationError,
    NotRunReason,
    SessionBusy,
    SessionClosed,
    ToolFailed,
    TurnFailed,
    TurnNotRun,
)
from agent_transport.local_tool import LocalTool
from agent_transport.local_turn import LocalTurn
from agent_transport.permission import NOTHING_ALLOWED, Permission, PermissionPolicy, decide
from agent_transport.session import (
    CancelSignal,
    JsonObject,
    RuntimeTool,
    ToolEnvelope,
    TurnHandle,
    TurnResult,
)

MAX_WAITING = 32
"""More callers than that are told to come again, not left to wait for an hour."""

CLOSE_GRACE_S = 5.0
"""What the running turn, or a tool, may take to end by itself when the session is closed."""

RunTurn = Callable[[str], Awaitable[str]]
"""Answers one prompt. It is cancelled when its caller is gone."""

_DENIED = "Permission denied"
_NOBODY_TO_ASK = "Permission denied: a person would have to approve this, and nobody is asked here"
_log = logging.getLogger("agent_transport.session")


class LocalSession:
    """Implements `McpTransportSession`.

    `permissions` decides on each tool call; unless it is given, nothing is allowed. One driver
    that submits again while it still waits is merged with itself; two drivers never are.

    Raises:
        ConfigurationError: two tools have the same name.
    """

    def __init__(
        self,
        run_turn: RunTurn,
        *,
        tools: Sequence[LocalTool] = (),
        permissions: PermissionPolicy = NOTHING_ALLOWED,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._run_turn = run_turn
        self._tools = {tool.name: tool for tool in tools}
        if len(self._tools) != len(tools):
            raise ConfigurationError("tools", "each must have a name of its own")
        self._catalog = tuple(tool.as_runtime_tool() for tool in tools)
        self._permissions = permissions
        self._sleep = sleep
        self._ids = itertools.count(1)
        self._waiting: list[LocalTurn] = []
        self._running: LocalTurn | None = None
        self._calls: set[asyncio.Future[Any]] = set()
        self._is_closed = False

    async def __aenter__(self) -> LocalSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # --- turns

    async def submit(self, prompt: str, *, driver_id: str, cancel: CancelSignal) -> TurnHandle:
        """Take a turn on; it runs when those before it are over."""
        self._refuse_if_closed()
        earlier = next((turn for turn in self._waiting if turn.driver_id == driver_id), None)
        if earlier is None and len(self._waiting) >= MAX_WAITING:
            raise SessionBusy("too many turns wait already; try again later")
        turn = LocalTurn(f"turn-{next(self._ids)}", prompt, driver_id)
        if cancel.is_set():
            turn.end(TurnNotRun(NotRunReason.CANCELLED))
            return turn
        self._queue(turn, earlier)
        turn.settled.add_done_callback(_undo(cancel.on_set(partial(self._cancel, turn))))
        self._run_next()
        return turn

    def drop_waiting(self) -> None:
        """Have all turns that wait end unrun, for the session's owner. The running one goes on."""
        dropped, self._waiting = self._waiting, []
        for turn in dropped:
            turn.end(TurnNotRun(NotRunReason.DROPPED))

    def _queue(self, turn: LocalTurn, earlier: LocalTurn | None) -> None:
        if earlier is None:
            self._waiting.append(turn)
            return
        # Nothing that was said is lost, and the driver keeps its place.
        turn.prompt = f"{earlier.prompt}\n\n{turn.prompt}"
        self._waiting[self._waiting.index(earlier)] = turn
        earlier.end(TurnNotRun(NotRunReason.COALESCED))

    def _cancel(self, turn: LocalTurn) -> None:
        if turn in self._waiting:
            self._waiting.remove(turn)
        turn.end(TurnNotRun(NotRunReason.CANCELLED))

    def _run_next(self) -> None:
        if self._running or self._calls or not self._waiting:
            return
        turn = self._running = self._waiting.pop(0)
        turn.task = asyncio.get_running_loop().create_task(
            self._run(turn), name=turn.turn_id, context=turn.context
        )
        # Not in the task's own `finally`: one that is cancelled before its first step has none.
        turn.task.add_done_callback(self._turn_over)

    def _turn_over(self, _: object) -> None:
        self._running = None
        self._run_next()

    async def _run(self, turn: LocalTurn) -> None:
        try:
            turn.settle(TurnResult(_checked(await self._run_turn(turn.prompt))))
        except asyncio.CancelledError:
            if not turn.settled.done():  # nobody cancelled it but what it called
                turn.end(TurnFailed("the turn was cancelled from inside"))
        except Exception as error:
            _log.exception("turn_failed turn=%s", turn.turn_id)
            turn.end(_caused(TurnFailed("the turn failed"), error))

    # --- tools

    async def list_runtime_tools(self) -> Sequence[RuntimeTool]:
        """The tools that were given, whatever the permissions say of them."""
        self._refuse_if_closed()
        return self._catalog

    async def invoke_runtime_tool(
        self, name: str, arguments: JsonObject, *, cancel: CancelSignal
    ) -> ToolEnvelope:
        """Run one tool, if it is allowed and the session is not busy with a turn."""
        self._refuse_if_closed()
        tool = self._tools.get(name)
        if tool is None:
            return ToolEnvelope(False, error="Unknown tool")
        said = decide(self._permissions, name, arguments)
        if said is not Permission.ALLOW:
            error = _NOBODY_TO_ASK if said is Permission.ASK else _DENIED
            return ToolEnvelope(False, error=error, metadata={"permission": str(said)})
        if self._running or self._waiting:
            raise SessionBusy("a turn is running; try again when it is over")
        return await self._call(tool, arguments)

    async def _call(self, tool: LocalTool, arguments: JsonObject) -> ToolEnvelope:
        # A task of its own: `close` can end it without cancelling the task of whoever called.
        call = asyncio.ensure_future(_envelope(tool, arguments))
        self._calls.add(call)
        try:
            return await call
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._is_closed and task is not None and not task.cancelling():
                raise SessionClosed("the session was closed") from None
            raise
        finally:
            self._calls.discard(call)
            self._run_next()

    # --- the end

    async def close(self) -> None:
        """End. What waits never runs, what runs has 5 seconds. May be called again, and at once.

        Whoever waits for a turn that did not end by itself is told `SessionClosed`.
        """
        self._is_closed = True
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            turn.end(SessionClosed("the session was closed"))
        if await self._is_quiet_within(CLOSE_GRACE_S):
            return
        if self._running is not None:
            self._running.end(SessionClosed("the session was closed"))
        for call in self._calls:
            call.cancel()
        if not await self._is_quiet_within(CLOSE_GRACE_S):
            _log.error("session_overdue")

    async def _is_quiet_within(self, seconds: float) -> bool:
        active: set[asyncio.Future[Any]] = set(self._calls)
        if self._running is not None and self._running.task is not None:
            active.add(self._running.task)
        active -= {asyncio.current_task()}  # a turn, or a tool, may close its own session
        if not active:
            return True
        bound = asyncio.ensure_future(self._sleep(seconds))
        ended = asyncio.ensure_future(asyncio.wait(active))
        try:
            await asyncio.wait([ended, bound], return_when=asyncio.FIRST_COMPLETED)
            return all(future.done() for future in active)
        finally:
            for waiter in (ended, bound):
                waiter.cancel()

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise SessionClosed("the session was closed")


async def _envelope(tool: LocalTool, arguments: JsonObject) -> ToolEnvelope:
    try:
        result = await tool.run(arguments)
        json.dumps(result, allow_nan=False)
    except ToolFailed as error:
        return ToolEnvelope(False, error=str(error))
    except Exception:
        _log.exception("tool_failed tool=%s", tool.name)
        return ToolEnvelope(False, error="The tool failed")
    return ToolEnvelope(True, result=result)


def _checked(response: Any) -> str:
    if not isinstance(response, str):
        raise TypeError(f"a turn answers with a string, not with {type(response).__name__}")
    return response


def _caused(error: TurnFailed, cause: Exception) -> TurnFailed:
    error.__cause__ = cause
    return error


def _undo(forget: Callable[[], None]) -> Callable[[object], None]:
    def call(_: object) -> None:
        forget()

    return call
