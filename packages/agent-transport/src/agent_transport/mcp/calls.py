"""The calls that run on one carrier, and who may not begin another one any more."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from agent_transport.mcp.call import Call, EndReason

C = TypeVar("C")

CREDENTIAL_GONE = (EndReason.REVOKED, EndReason.EXPIRED)
"""A caller without a valid credential gets no result any more, not even a finished one."""
REMEMBERED_S = 60.0
"""Longer than a request may take from its admission to its call: a body has 30 s, a look-up 10."""
REMEMBERED = 4_096


class RunningCalls(Generic[C]):
    """Calls by key, at most `limit` of one key at a time.

    A credential may end while a request that it admitted still sends its body. What ended is
    therefore remembered for a while, and such a request begins nothing.
    """

    def __init__(
        self,
        key: Callable[[C], Hashable],
        part: Callable[[C], Hashable] | None,
        limit: int,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._key = key
        self._part = part
        self._limit = limit
        self._clock = clock
        self._running: dict[Hashable, set[Call[C]]] = {}
        self._gone: OrderedDict[Hashable, float] = OrderedDict()

    def keys(self) -> tuple[Hashable, ...]:
        """The keys that have a call running."""
        return tuple(self._running)

    def of(self, key: Hashable) -> tuple[Call[C], ...]:
        """The running calls of one key."""
        return tuple(self._running.get(key, ()))

    def is_gone(self, caller: C) -> bool:
        """Whether this caller's credential has ended since it was admitted."""
        if not self._gone:
            return False
        return self._key(caller) in self._gone or (
            self._part is not None and self._part(caller) in self._gone
        )

    def begin(self, call: Call[C]) -> bool:
        """Count a call in; False: its key has as many as it may have."""
        calls = self._running.setdefault(self._key(call.caller), set())
        if len(calls) >= self._limit:
            return False
        calls.add(call)
        return True

    def finish(self, call: Call[C]) -> None:
        """A call is over."""
        key = self._key(call.caller)
        calls = self._running.get(key)
        if calls is None:
            return
        calls.discard(call)
        if not calls:
            del self._running[key]

    def end(self, key: Hashable, reason: EndReason) -> None:
        """Tell all calls of `key`."""
        if reason in CREDENTIAL_GONE:
            self._remember(key)
        for call in self.of(key):
            call.ended.set(reason)

    def end_part(self, key: Hashable, part: Hashable, reason: EndReason) -> None:
        """Tell the calls of `key` that belong to one part of it."""
        assert self._part is not None, "this carrier was not told of parts"
        if reason in CREDENTIAL_GONE:
            self._remember(part)
        for call in self.of(key):
            if self._part(call.caller) == part:
                call.ended.set(reason)

    def end_session(self, key: Hashable, session_id: str) -> None:
        """Tell the calls of one session that it has ended."""
        for call in self.of(key):
            if call.session is not None and call.session.id == session_id:
                call.ended.set(EndReason.CLOSED)

    def cancel(self, by: Call[C], request_id: Any) -> None:
        """Cancel the calls of the session of `by` that have this id."""
        session_id = by.session.id if by.session else None
        for call in self.of(self._key(by.caller)):
            own = call.session.id if call.session else None
            is_meant = call.request_id == request_id and type(call.request_id) is type(request_id)
            if own == session_id is not None and is_meant:
                call.cancel(EndReason.CANCELLED)

    def _remember(self, name: Hashable) -> None:
        now_s = self._clock()
        self._gone[name] = now_s
        self._gone.move_to_end(name)
        while self._gone:
            oldest, since_s = next(iter(self._gone.items()))
            if now_s - since_s < REMEMBERED_S and len(self._gone) <= REMEMBERED:
                return
            del self._gone[oldest]
