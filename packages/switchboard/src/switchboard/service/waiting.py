"""Claims that wait for work: first come, first served, one waiter a todo."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from switchboard.domain.endpoint import Caller
from switchboard.domain.todo import Todo


@dataclass(eq=False, slots=True)
class Waiter:
    """One waiting claim. `woken_by` is set while it has a todo to try."""

    caller: Caller
    queues: frozenset[str]
    woken_by: Todo | None = None
    wake: asyncio.Event = field(default_factory=asyncio.Event)

    def fits(self, todo: Todo) -> bool:
        """Whether this waiter could claim `todo`."""
        return (
            self.woken_by is None
            and self.caller.workspace_id == todo.workspace_id
            and todo.queue in self.queues
            and todo.assignee_id in (None, self.caller.endpoint_id)
        )


class WaitingRoom:
    """The waiting claims of this process, in the order in which they came."""

    def __init__(self) -> None:
        self._waiters: dict[Waiter, None] = {}

    def __len__(self) -> int:
        return len(self._waiters)

    def callers(self) -> tuple[Caller, ...]:
        """Who waits."""
        return tuple(waiter.caller for waiter in self._waiters)

    def enter(self, waiter: Waiter) -> None:
        """Take the last place."""
        self._waiters[waiter] = None

    def leave(self, waiter: Waiter) -> Todo | None:
        """Give up the place; returns the todo that this waiter was woken for and did not try."""
        self._waiters.pop(waiter, None)
        return waiter.woken_by

    def offer(self, todo: Todo) -> bool:
        """Wake the first waiter that could claim `todo`; False when there is none."""
        for waiter in self._waiters:
            if waiter.fits(todo):
                waiter.woken_by = todo
                waiter.wake.set()
                return True
        return False
