"""Which endpoints listen, on which streams, and whose turn it is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from agent_transport.mcp import NotificationStream
from switchboard.domain.endpoint import Caller, EndpointId, Verb
from switchboard.domain.todo import Todo
from switchboard.domain.workspace import WorkspaceId

_log = logging.getLogger(__name__)

SPOKE_WITHIN_MS = 600_000
"""A session that was silent for longer may be a half-open socket: others go first."""
MISSES_BEFORE_WARNING = 3

Stream = NotificationStream[Any]
SpokeAt = Callable[[str], int]
"""When a session last spoke, by its id."""


class EndpointStreams:
    """The open streams of one endpoint. Each ring goes to exactly one of them."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.streams: list[Stream] = []
        self._misses: dict[Stream, int] = {}

    def remove(self, stream: Stream) -> None:
        """A stream is over."""
        if stream in self.streams:
            self.streams.remove(stream)
        self._misses.pop(stream, None)

    def offer(self, frame: bytes, spoke_at: SpokeAt, now_ms: int) -> bool:
        """Ring the first stream that takes it: one that is stuck must not silence its siblings."""
        for stream in self._by_turn(spoke_at, now_ms):
            if self.offer_to(stream, frame):
                self.streams.remove(stream)
                self.streams.append(stream)
                return True
        return False

    def offer_to(self, stream: Stream, frame: bytes) -> bool:
        """Ring this stream, and warn once when it has lost several rings in a row."""
        if stream.offer(frame):
            self._misses.pop(stream, None)
            return True
        if stream.ended is not None:
            return False
        missed = self._misses[stream] = self._misses.get(stream, 0) + 1
        if missed == MISSES_BEFORE_WARNING:
            who = {"slug": self.caller.slug, "session": stream.session.id[:8]}
            _log.warning("doorbells_not_taken", extra=who)
        return False

    def _by_turn(self, spoke_at: SpokeAt, now_ms: int) -> list[Stream]:
        """Those whose session spoke lately in turn, then the silent ones, the newest first."""
        lately: list[Stream] = []
        silent: list[Stream] = []
        for stream in self.streams:
            spoke = now_ms - spoke_at(stream.session.id) < SPOKE_WITHIN_MS
            (lately if spoke else silent).append(stream)
        silent.sort(key=lambda stream: stream.opened_at, reverse=True)
        return lately + silent


class OpenStreams:
    """All open streams, found by endpoint and by queue."""

    def __init__(self) -> None:
        self._endpoints: dict[EndpointId, EndpointStreams] = {}
        self._queues: dict[tuple[WorkspaceId, str], dict[EndpointId, EndpointStreams]] = {}

    def __len__(self) -> int:
        return len(self._endpoints)

    def add(self, stream: Stream) -> EndpointStreams:
        """A stream has opened. Its turn comes first: it is proof of a client that listens now,
        while an older stream may belong to a session that this client has left behind."""
        caller: Caller = stream.caller
        found = self._endpoints.get(caller.endpoint_id)
        if found is None:
            found = self._endpoints[caller.endpoint_id] = EndpointStreams(caller)
            for queue in caller.queues if hears(caller) else ():
                key = (caller.workspace_id, queue)
                self._queues.setdefault(key, {})[caller.endpoint_id] = found
        found.streams.insert(0, stream)
        return found

    def remove(self, stream: Stream) -> None:
        """A stream is over."""
        caller: Caller = stream.caller
        found = self._endpoints.get(caller.endpoint_id)
        if found is None:
            return
        found.remove(stream)
        if found.streams:
            return
        del self._endpoints[caller.endpoint_id]
        for queue in caller.queues:
            key = (caller.workspace_id, queue)
            listening = self._queues.get(key, {})
            listening.pop(caller.endpoint_id, None)
            if not listening:
                self._queues.pop(key, None)

    def of(self, endpoint_id: EndpointId) -> EndpointStreams | None:
        """The streams of one endpoint; None when it has none."""
        return self._endpoints.get(endpoint_id)

    def hearing(self, todo: Todo) -> list[EndpointStreams]:
        """The endpoints that may hear of a todo: its queue in scope, not somebody else's."""
        listening = self._queues.get((todo.workspace_id, todo.queue), {})
        if todo.assignee_id is None:
            return list(listening.values())
        found = listening.get(todo.assignee_id)
        return [] if found is None else [found]

    def callers(self) -> Iterator[Caller]:
        """By whom each open stream was opened."""
        for found in self._endpoints.values():
            for stream in found.streams:
                yield stream.caller

    def session_ids(self, endpoint_id: EndpointId | None) -> Iterator[str]:
        """The sessions that have a stream open, of one endpoint or of all."""
        if endpoint_id is None:
            endpoints = tuple(self._endpoints.values())
        else:
            only = self._endpoints.get(endpoint_id)
            endpoints = () if only is None else (only,)
        for found in endpoints:
            for stream in found.streams:
                yield stream.session.id


def hears(caller: Caller) -> bool:
    """Whether a ring is of use to an endpoint: it can look at todos or take them."""
    return Verb.CLAIM in caller.verbs or Verb.LIST_TODOS in caller.verbs
