"""What the service does by itself: sweeping, coming due, expiry, batched writes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from switchboard.clock import Clock
from switchboard.domain.todo import State, Todo, TodoId
from switchboard.notifier import EndWhy, Notifier, TodoReady
from switchboard.service.endpoints import publish_credentials_ended, publish_ended
from switchboard.store import Store

_log = logging.getLogger(__name__)

SWEEP_EVERY_S = 5.0
DUE_EVERY_S = 1.0
EXPIRY_LOOK_S = 1.0
"""What is vended or rotated meanwhile lives for at least as long."""
EXPIRY_AFTER_FAILURE_S = 5.0
IDLE_EVERY_S = 600.0
SESSION_IDLE_MS = 86_400_000
BATCH = 500
DUE_AT_MOST = 32_000
"""So many rings at a time are storms for everybody; the rest is found by asking."""
COMMITTED_LATE_MS = 10_000
"""A todo that is due in a moment may be committed after that moment: as long as a writer waits."""


class Upkeep:
    """Owns the background loops. Each pass is a method of its own and may be run by a test."""

    def __init__(
        self,
        store: Store,
        notifier: Notifier,
        clock: Clock,
        *,
        flushes: tuple[Callable[[], Awaitable[None]], ...] = (),
        looks: tuple[Callable[[], Awaitable[None]], ...] = (),
    ) -> None:
        """`flushes` write what is kept in memory, `looks` find what a lost signal would have told;
        both every few seconds, and the flushes once more at the end."""
        self._store = store
        self._notifier = notifier
        self._clock = clock
        self._flushes = flushes
        self._looks = looks
        self._due_after_ms = clock.now_ms()
        self._due_told: dict[TodoId, int] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = asyncio.Event()

    async def start(self) -> None:
        """Begin all loops."""
        self._stopping.clear()
        passes = (
            (self.sweep, SWEEP_EVERY_S),
            (self.ring_due, DUE_EVERY_S),
            (self.flush, SWEEP_EVERY_S),
            (self.close_idle, IDLE_EVERY_S),
            *((look, SWEEP_EVERY_S) for look in self._looks),
        )
        self._tasks = [asyncio.create_task(self._every(one, s)) for one, s in passes]
        self._tasks.append(asyncio.create_task(self._expire_on_time()))

    async def stop(self) -> None:
        """End all loops after their running pass, then write what is unwritten. Safe twice."""
        self._stopping.set()
        tasks, self._tasks = self._tasks, []
        if tasks:
            await asyncio.gather(*tasks)
        await self.flush()

    async def sweep(self) -> None:
        """Return lapsed todos to pending and tell of each."""
        swept = await self._store.sweep_lapsed(BATCH)
        while swept:
            for todo in swept:
                if todo.state is State.PENDING:
                    self._notifier.publish(TodoReady(todo))
            swept = await self._store.sweep_lapsed(BATCH) if len(swept) == BATCH else ()

    async def ring_due(self) -> None:
        """Tell of todos whose time has come since the last pass, and of those committed late."""
        after_ms = self._due_after_ms - COMMITTED_LATE_MS
        todos, now_ms = await self._all_due(after_ms)
        told = {todo_id: due_ms for todo_id, due_ms in self._due_told.items() if due_ms > after_ms}
        self._due_after_ms, self._due_told = now_ms, told
        for todo in todos:
            if told.get(todo.id) != todo.available_at_ms:
                told[todo.id] = todo.available_at_ms
                self._notifier.publish(TodoReady(todo))

    async def _all_due(self, after_ms: int) -> tuple[Sequence[Todo], int]:
        """A thousand todos may be due at one moment, so there is no going on from a full page."""
        limit = BATCH
        while True:
            todos, now_ms = await self._store.became_ready(after_ms, limit)
            if len(todos) < limit or limit >= DUE_AT_MOST:
                return todos, now_ms
            limit *= 4

    async def expire(self) -> None:
        """End the endpoints and the rotated credentials whose time has come."""
        for ended in await self._store.expire_endpoints(BATCH):
            publish_ended(self._notifier, ended, EndWhy.EXPIRED)
        over = await self._store.expire_credentials(BATCH)
        publish_credentials_ended(self._notifier, over, EndWhy.EXPIRED)

    async def flush(self) -> None:
        """Write the batches."""
        for flush in self._flushes:
            await flush()

    async def close_idle(self) -> None:
        """End sessions that nobody used for a day; a use that is not written yet counts."""
        await self.flush()
        await self._store.close_idle_sessions(SESSION_IDLE_MS)

    async def _every(self, one: Callable[[], Awaitable[None]], every_s: float) -> None:
        while not await self._stopped_within(every_s):
            await self._guarded(one)

    async def _expire_on_time(self) -> None:
        wait_s = 0.0
        while not await self._stopped_within(wait_s):
            wait_s = await self._expire_if_due()

    async def _expire_if_due(self) -> float:
        """End what is due; gives the seconds until the next look. Looking is only a read."""
        try:
            left_ms = await self._store.next_expiry_in_ms()
            if left_ms is None:
                return EXPIRY_LOOK_S
            if left_ms > 0:
                return min(left_ms / 1000, EXPIRY_LOOK_S)
            await self.expire()
        except Exception:  # as in _guarded
            _log.exception("upkeep_failed", extra={"pass": "expire"})
            return EXPIRY_AFTER_FAILURE_S
        return 0.0

    async def _guarded(self, one: Callable[[], Awaitable[None]]) -> None:
        try:
            await one()
        except Exception:  # the next pass tries again; a loop must outlive a bad disk
            _log.exception("upkeep_failed", extra={"pass": getattr(one, "__name__", "?")})

    async def _stopped_within(self, wait_s: float) -> bool:
        try:
            async with asyncio.timeout(wait_s):
                await self._stopping.wait()
        except TimeoutError:
            return False
        return True
