"""One turn of a `LocalSession`, from submission to its end."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable

from agent_transport.errors import SessionError
from agent_transport.session import TurnResult


class LocalTurn:
    """Implements `TurnHandle`. It settles once; what comes later is ignored.

    Runs in the context of whoever submitted it, not of the turn before it.
    """

    def __init__(self, turn_id: str, prompt: str, driver_id: str) -> None:
        self.turn_id = turn_id
        self.prompt = prompt
        self.driver_id = driver_id
        self.context = contextvars.copy_context()
        self.task: asyncio.Task[None] | None = None
        self.settled: asyncio.Future[TurnResult] = asyncio.get_running_loop().create_future()
        self.settled.add_done_callback(_look_at)

    @property
    def completed(self) -> Awaitable[TurnResult]:
        return asyncio.shield(self.settled)

    def settle(self, result: TurnResult) -> None:
        """It ran and came to this."""
        if not self.settled.done():
            self.settled.set_result(result)

    def end(self, why: SessionError) -> None:
        """It has no response. If it is running it is cancelled; its caller need not wait for that.

        A turn that asks for its own end, by ending the session it belongs to, is left to run out.
        """
        if self.settled.done():
            return
        self.settled.set_exception(why)
        if self.task is not None and self.task is not asyncio.current_task():
            self.task.cancel()


def _look_at(settled: asyncio.Future[TurnResult]) -> None:
    """A turn that nobody waits for any more may end in an error without asyncio complaining."""
    if not settled.cancelled():
        settled.exception()
