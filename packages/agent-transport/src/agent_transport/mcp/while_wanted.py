"""Waiting for a session only as long as the caller wants the answer."""

from __future__ import annotations

import asyncio
from types import TracebackType

from agent_transport.errors import NotRunReason, TurnNotRun
from agent_transport.mcp.call import EndReason, EndSignal


class WhileWanted:
    """Interrupts the block once `signal` is set; the block then ends in `TurnNotRun`.

    The other way round too: when the task itself is cancelled, the signal is set, so that what
    the session runs by itself is told. Without a task or a timer of its own: this is on the path
    of every call.
    """

    __slots__ = ("_before", "_forget", "_interrupted", "_signal", "_task")

    def __init__(self, signal: EndSignal) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._signal = signal
        self._task = task
        self._interrupted = False

    def __enter__(self) -> None:
        self._before = self._task.cancelling()
        self._forget = self._signal.on_set(self._interrupt)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._forget()
        asked = self._task.uncancel() if self._interrupted else self._task.cancelling()
        if kind is None or not issubclass(kind, asyncio.CancelledError):
            return
        self._signal.set(EndReason.CANCELLED)
        if asked <= self._before:
            # Nobody cancelled this task: the signal did, or the session cancelled what it gave.
            raise TurnNotRun(NotRunReason.CANCELLED) from None

    def _interrupt(self) -> None:
        self._interrupted = True
        self._task.cancel()
