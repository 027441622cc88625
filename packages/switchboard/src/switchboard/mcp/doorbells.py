"""Who is rung when a todo becomes ready. Lossy: a lost ring is found by list or claim."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from agent_transport.admission import Buckets, Rate
from agent_transport.mcp import NotificationStream, notification_frame
from switchboard.clock import Clock
from switchboard.domain.doorbell import METHOD, doorbell_params
from switchboard.domain.endpoint import Caller, EndpointId
from switchboard.domain.queue import Queue, RingPolicy
from switchboard.domain.todo import State, Todo, TodoId, may_ring
from switchboard.mcp.open_streams import EndpointStreams, OpenStreams, SpokeAt, hears
from switchboard.mcp.recent import Recent
from switchboard.mcp.unclaimed import Again, Unclaimed
from switchboard.notifier import QueueResumed, Signal, TodoReady, TodoReleased
from switchboard.service.waiting import WaitingRoom
from switchboard.store import Store

_log = logging.getLogger(__name__)

STORM = Rate(0.1, 10)
"""A burst of rings, then one in 10 s: each ring is a turn of somebody's model."""
ON_OPEN = 3
ON_OPEN_LOOKED_AT = 16
"""Todos that may not ring stand among those that may; so far the look goes past them."""
ON_OPEN_AGAIN_AFTER_MS = 60_000
RESUMED_LOOKED_AT = 64
"""A burst for six endpoints; what is beyond them rings as the first ones are taken or repeated."""
RELEASER_QUIET_MS = 300_000
RUNG_AT_A_STRETCH = 100
"""Some milliseconds; then calls have their turn, and the first of these are on their way."""
PASS_EVERY_S = 1.0
AGAIN_IN_A_PASS = 50
STOP_BOUND_S = 5.0

Key = tuple[EndpointId, TodoId]


class Doorbells:
    """Rings one stream of each endpoint that listens, after waiting claims were served.

    `on_signal`, `stream_opened` and `stream_closed` belong to the event loop and never wait.
    """

    def __init__(
        self, store: Store, waiting: WaitingRoom, clock: Clock, *, spoke_at: SpokeAt
    ) -> None:
        self._store = store
        self._waiting = waiting
        self._clock = clock
        self._spoke_at = spoke_at
        self._open = OpenStreams()
        self._storm = Buckets(STORM)
        self._held_back: dict[EndpointId, int] = {}
        self._unclaimed = Unclaimed()
        self._rung_on_open: Recent[Key] = Recent(ON_OPEN_AGAIN_AFTER_MS)
        self._released: Recent[Key] = Recent(RELEASER_QUIET_MS)
        self._turn: dict[EndpointId, None] = {}
        self._opening: dict[NotificationStream[Any], set[TodoId]] = {}
        """What each stream that is looking for waiting todos was meanwhile rung for."""
        self._rings: set[asyncio.Task[None]] = set()
        self._passes: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    def start(self) -> None:
        """Begin to ring again what nobody takes."""
        self._stopping.clear()
        self._passes = asyncio.get_running_loop().create_task(self._pass_by_pass())

    async def stop(self) -> None:
        """Ring nobody again, and finish the rings under way. Safe twice and before start."""
        self._stopping.set()
        passes, self._passes = self._passes, None
        if passes is not None:
            await asyncio.wait({passes}, timeout=STOP_BOUND_S)
        await self.settled()

    async def settled(self) -> None:
        """Return when the rings under way are over, within a bound."""
        if self._rings:
            await asyncio.wait(self._rings, timeout=STOP_BOUND_S)

    def callers(self) -> tuple[Caller, ...]:
        """By whom each open stream was opened."""
        return tuple(self._open.callers())

    def session_ids(self, endpoint_id: EndpointId | None = None) -> tuple[str, ...]:
        """The sessions that have a stream open, of one endpoint or of all: they are in use."""
        return tuple(self._open.session_ids(endpoint_id))

    def streams_of(self, endpoint_id: EndpointId) -> int:
        """How many streams an endpoint has open."""
        found = self._open.of(endpoint_id)
        return 0 if found is None else len(found.streams)

    def on_signal(self, signal: Signal) -> None:
        """Subscriber of the notifier."""
        match signal:
            case TodoReady():
                self._ready(signal.todo)
            case TodoReleased():
                self._released.note((signal.by, signal.todo.id), self._clock.now_ms())
            case QueueResumed():
                self._spawn(self._ring_resumed(signal))
            case _:
                pass

    def stream_opened(self, stream: NotificationStream[Any]) -> None:
        """A stream that opens hears of what waits."""
        streams = self._open.add(stream)
        if hears(streams.caller):
            self._spawn(self._ring_opened(stream, streams))

    def stream_closed(self, stream: NotificationStream[Any]) -> None:
        """A stream is over."""
        self._open.remove(stream)
        endpoint_id = stream.caller.endpoint_id
        if self._open.of(endpoint_id) is None:
            self._held_back.pop(endpoint_id, None)
            self._turn.pop(endpoint_id, None)

    async def ring_again(self) -> None:
        """One pass: what nobody took, and what a storm has held back."""
        if not self._open:
            return
        now_ms = self._clock.now_ms()
        for again in self._unclaimed.take_due(now_ms, AGAIN_IN_A_PASS):
            await self._ring_if_unclaimed(again, now_ms)
        for endpoint_id in tuple(self._held_back):
            await self._ring_held_back(endpoint_id, now_ms)

    # One todo

    def _ready(self, todo: Todo) -> None:
        if todo.ready_at_ms > self._clock.now_ms() or self._waiting.offer(todo):
            return  # whatever else happened to it, its time is told when it comes
        if self._open and may_ring(todo):
            self._spawn(self._ring(todo))

    async def _ring(self, todo: Todo, *, again: bool = False) -> None:
        if not self._open.hearing(todo):
            return
        queue = await self._queue_of(todo)
        now_ms = self._clock.now_ms()
        if queue is not None and queue.paused:
            self._unclaimed.ring_later(todo, todo.rings, now_ms)
            return
        hearing = [
            streams
            for streams in self._open.hearing(todo)
            if not self._released.holds((streams.caller.endpoint_id, todo.id), now_ms)
        ]
        pool = queue is not None and queue.ring is RingPolicy.ONE
        if pool and not again:
            taken = await self._ring_one(todo, hearing, now_ms)
            self._unclaimed.widen_later(todo, now_ms)
        else:
            taken = await self._ring_all(todo, hearing, now_ms)
            # Widening is part of a pool's first ring: it uses up none of the repetitions.
            self._unclaimed.ring_later(todo, todo.rings + taken - pool, now_ms)
        if taken:
            await self._store.count_ring(todo.id)

    async def _ring_all(self, todo: Todo, hearing: list[EndpointStreams], now_ms: int) -> bool:
        frame = notification_frame(METHOD, doorbell_params(todo))
        taken = False
        for number, streams in enumerate(hearing, 1):
            taken = self._ring_endpoint(todo, streams, frame, now_ms) or taken
            if number % RUNG_AT_A_STRETCH == 0:
                await asyncio.sleep(0)
        return taken

    async def _ring_one(self, todo: Todo, hearing: list[EndpointStreams], now_ms: int) -> bool:
        """Of a pool, the idle ones in turn, then the busy ones in turn, until one takes it."""
        busy = await self._store.endpoints_with_live_lease(todo.workspace_id)
        turns = {endpoint_id: turn for turn, endpoint_id in enumerate(self._turn)}

        def rank(streams: EndpointStreams) -> tuple[bool, int]:
            endpoint_id = streams.caller.endpoint_id
            return endpoint_id in busy, turns.get(endpoint_id, -1)

        frame = notification_frame(METHOD, doorbell_params(todo))
        for streams in sorted(hearing, key=rank):
            if self._ring_endpoint(todo, streams, frame, now_ms, hold=False):
                self._turn.pop(streams.caller.endpoint_id, None)
                self._turn[streams.caller.endpoint_id] = None
                return True
        return False

    def _ring_endpoint(
        self,
        todo: Todo,
        streams: EndpointStreams,
        frame: bytes,
        now_ms: int,
        *,
        hold: bool = True,
    ) -> bool:
        """Ring one stream. `hold`: what a storm suppresses is told of later."""
        if not streams.streams:  # they closed since they were found
            return False
        endpoint_id = streams.caller.endpoint_id
        if self._storm.take(endpoint_id, now_ms / 1000) > 0:
            if hold:
                self._held_back[endpoint_id] = self._held_back.get(endpoint_id, 0) + 1
            return False
        more = self._held_back.pop(endpoint_id, 0)
        if more:
            frame = notification_frame(METHOD, doorbell_params(todo, more=more))
        taken = streams.offer(frame, self._spoke_at, now_ms)
        if taken and self._opening:
            for stream in streams.streams:
                self._opening.get(stream, set()).add(todo.id)
        return taken

    async def _queue_of(self, todo: Todo) -> Queue | None:
        queues = await self._store.queues(todo.workspace_id)
        return next((queue for queue in queues if queue.name == todo.queue), None)

    # Later

    async def _ring_if_unclaimed(self, again: Again, now_ms: int) -> None:
        history = await self._store.todo(again.workspace_id, again.todo_id)
        if history is None:
            return
        todo = history.todo
        if todo.state is not State.PENDING or todo.ready_at_ms > now_ms:
            return
        if self._open.hearing(todo):
            await self._ring(todo, again=True)
        else:
            self._unclaimed.ring_later(todo, todo.rings, now_ms)

    async def _ring_resumed(self, resumed: QueueResumed) -> None:
        """What waits in a queue became ready at one stroke; waiting claims come first here too."""
        workspace_id, queue = resumed.workspace_id, resumed.queue
        for todo in await self._store.ready_in_queue(workspace_id, queue, RESUMED_LOOKED_AT):
            self._ready(todo)

    async def _ring_held_back(self, endpoint_id: EndpointId, now_ms: int) -> None:
        streams = self._open.of(endpoint_id)
        if streams is None or self._storm.take(endpoint_id, now_ms / 1000) > 0:
            return
        held_back = self._held_back.pop(endpoint_id, 0)
        waiting, ready = await self._waiting_for(streams, now_ms)
        if not waiting or not streams.streams:
            return
        more = min(held_back, ready) - 1
        todo = min(waiting, key=lambda todo: todo.rings)
        frame = notification_frame(METHOD, doorbell_params(todo, more=more))
        if streams.offer(frame, self._spoke_at, now_ms):
            await self._count(todo, now_ms)

    async def _ring_opened(self, stream: NotificationStream[Any], streams: EndpointStreams) -> None:
        now_ms = self._clock.now_ms()
        endpoint_id = streams.caller.endpoint_id
        told = self._opening[stream] = set()
        try:
            waiting, _ = await self._waiting_for(streams, now_ms)
        finally:
            del self._opening[stream]
        for todo in waiting[ON_OPEN:]:
            if todo.id not in self._unclaimed:  # a process before this one may have rung it
                self._unclaimed.ring_later(todo, todo.rings, now_ms)
        for todo in waiting[:ON_OPEN]:
            key = (endpoint_id, todo.id)
            if todo.id in told or self._rung_on_open.holds(key, now_ms):
                continue
            frame = notification_frame(METHOD, doorbell_params(todo))
            if streams.offer_to(stream, frame):
                self._rung_on_open.note(key, now_ms)
                await self._count(todo, now_ms)

    async def _waiting_for(self, streams: EndpointStreams, now_ms: int) -> tuple[list[Todo], int]:
        """What an endpoint may be rung for now, best first, and how much it could take."""
        endpoint_id = streams.caller.endpoint_id
        ready, total = await self._store.ready_for(streams.caller, ON_OPEN_LOOKED_AT)
        waiting = [
            todo
            for todo in ready
            if may_ring(todo) and not self._released.holds((endpoint_id, todo.id), now_ms)
        ]
        return waiting, total

    async def _count(self, todo: Todo, now_ms: int) -> None:
        self._unclaimed.ring_later(todo, todo.rings + 1, now_ms)
        await self._store.count_ring(todo.id)

    # Tasks

    async def _pass_by_pass(self) -> None:
        while not self._stopping.is_set():
            try:
                async with asyncio.timeout(PASS_EVERY_S):
                    await self._stopping.wait()
            except TimeoutError:
                await _logged(self.ring_again())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(_logged(work))
        self._rings.add(task)
        task.add_done_callback(self._rings.discard)


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Exception:  # a ring that failed is a ring that was lost; the next one must come
        _log.exception("ring_failed")
