"""Replicas that tell each other what happened, on a real PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from switchboard.domain.todo import Todo, TodoId
from switchboard.notifier import Signal, SignalsMissed
from switchboard.notifiers.postgres import PostgresNotifier, connecting_to
from tests.switchboard.domain.todos import ready_todo

BOUND_S = 15.0


@dataclass
class Rows:
    """The todos that every replica can read."""

    todos: dict[TodoId, Todo] = field(default_factory=dict[TodoId, Todo])

    def add(self, name: str, **fields: Any) -> Todo:
        todo = ready_todo(id=TodoId(f"td_{name}"), **fields)
        self.todos[todo.id] = todo
        return todo

    async def read(self, wanted: Collection[TodoId]) -> Sequence[Todo]:
        return [self.todos[todo_id] for todo_id in wanted if todo_id in self.todos]


class Heard:
    """A subscriber that keeps what it is told, and wakes whoever waits for it."""

    def __init__(self) -> None:
        self.all: list[Signal] = []
        self._more = asyncio.Event()

    def __call__(self, signal: Signal) -> None:
        self.all.append(signal)
        self._more.set()

    @property
    def told(self) -> list[Signal]:
        """What was told; that something may have been missed is not among it."""
        return [signal for signal in self.all if not isinstance(signal, SignalsMissed)]

    async def until(self, holds: Callable[[], bool], within_s: float = BOUND_S) -> None:
        """Return when it holds, looked at after each signal."""
        async with asyncio.timeout(within_s):
            while not holds():
                self._more.clear()
                await self._more.wait()


@dataclass
class Replica:
    """One process's notifier and a subscriber of it."""

    notifier: PostgresNotifier
    heard: Heard


@asynccontextmanager
async def replicas(url: str, rows: Rows, count: int = 2) -> AsyncGenerator[list[Replica]]:
    """So many notifiers that share a database."""
    async with AsyncExitStack() as stack:
        made: list[Replica] = []
        for _ in range(count):
            notifier = PostgresNotifier(connecting_to(url), rows.read)
            heard = Heard()
            notifier.subscribe(heard)
            stack.push_async_callback(notifier.stop)
            await notifier.start()
            made.append(Replica(notifier, heard))
        yield made
