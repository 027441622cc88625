"""Who is rung when a todo becomes ready. Lossy: a lost ring is found by list or claim."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from agent_transport.admission import Buckets, Rate
from agent_transport.mcp import NotificationStream, notification_frame
from switchboard.clock import Clock
from switchboard.domain.doorbell import METHOD, doorbell_params
from switchboard.domain.endpoint import Caller, EndpointId, Verb
from switchboard.domain.todo import Todo, TodoId, may_ring
from switchboard.notifier import Signal, TodoReady
from switchboard.service.waiting import WaitingRoom
from switchboard.store import Store

_log = logging.getLogger(__name__)
STORM = Rate(0.1, 10)
ON_OPEN = 3
AGAIN_AFTER_MS = 60_000
Stream = NotificationStream[Caller]


class Doorbells:
    """Rings one stream of each endpoint that listens, after waiting claims were served."""

    def __init__(self, store: Store, waiting: WaitingRoom, clock: Clock) -> None:
        self._store = store
        self._waiting = waiting
        self._clock = clock
        self._streams: dict[EndpointId, list[Stream]] = {}
        self._storm = Buckets(STORM)
        self._held_back: dict[EndpointId, int] = {}
        self._rung_on_open: dict[tuple[EndpointId, TodoId], int] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def on_signal(self, signal: Signal) -> None:
        """Subscriber of the notifier."""
        if not isinstance(signal, TodoReady) or self._waiting.offer(signal.todo):
            return
        if self._streams and may_ring(signal.todo):
            self._spawn(self._ring_all(signal))

    def stream_opened(self, stream: NotificationStream[Any]) -> None:
        """A stream that opens hears of what waits."""
        self._streams.setdefault(stream.caller.endpoint_id, []).append(stream)
        if _listens(stream.caller):
            self._spawn(self._ring_waiting(stream))

    def stream_closed(self, stream: NotificationStream[Any]) -> None:
        """A stream is over."""
        endpoint_id = stream.caller.endpoint_id
        streams = self._streams.get(endpoint_id, [])
        if stream in streams:
            streams.remove(stream)
        if not streams:
            self._streams.pop(endpoint_id, None)

    async def stop(self) -> None:
        """Wait for rings under way."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)

    async def _ring_all(self, signal: TodoReady) -> None:
        todo = signal.todo
        if await self._is_paused(todo):
            return
        frame = notification_frame(METHOD, doorbell_params(todo))
        taken = [self._ring(streams, todo, frame, signal) for streams in self._streams.values()]
        if any(taken):
            await self._store.count_ring(todo.id)

    async def _is_paused(self, todo: Todo) -> bool:
        queues = await self._store.queues(todo.workspace_id)
        return any(queue.name == todo.queue and queue.paused for queue in queues)

    def _ring(self, streams: list[Stream], todo: Todo, frame: bytes, signal: TodoReady) -> bool:
        caller = streams[0].caller
        if not _may_hear(caller, todo) or caller.endpoint_id == signal.not_to:
            return False
        if self._storm.take(caller.endpoint_id, self._clock.now_ms() / 1000) > 0:
            self._held_back[caller.endpoint_id] = self._held_back.get(caller.endpoint_id, 0) + 1
            return False
        more = self._held_back.pop(caller.endpoint_id, 0)
        if more:
            frame = notification_frame(METHOD, doorbell_params(todo, more=more))
        streams.append(streams.pop(0))  # rotation: the next ring goes to the next stream
        return streams[-1].offer(frame)

    async def _ring_waiting(self, stream: Stream) -> None:
        todos, _ = await self._store.ready_for(stream.caller, ON_OPEN)
        now_ms = self._clock.now_ms()
        for todo in todos:
            key = (stream.caller.endpoint_id, todo.id)
            if not may_ring(todo) or now_ms - self._rung_on_open.get(key, 0) < AGAIN_AFTER_MS:
                continue
            if stream.offer(notification_frame(METHOD, doorbell_params(todo))):
                self._remember(key, now_ms)
                await self._store.count_ring(todo.id)

    def _remember(self, key: tuple[EndpointId, TodoId], now_ms: int) -> None:
        self._rung_on_open[key] = now_ms
        if len(self._rung_on_open) > 4_096:
            self._rung_on_open.pop(next(iter(self._rung_on_open)))

    def _spawn(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(_logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _logged(work: Any) -> None:
    try:
        await work
    except Exception:
        _log.exception("ring_failed")


def _listens(caller: Caller) -> bool:
    return Verb.CLAIM in caller.verbs or Verb.LIST_TODOS in caller.verbs


def _may_hear(caller: Caller, todo: Todo) -> bool:
    return (
        caller.workspace_id == todo.workspace_id
        and caller.covers(todo.queue)
        and _listens(caller)
        and todo.assignee_id in (None, caller.endpoint_id)
    )
