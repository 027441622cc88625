"""The notifier of one process: a plain call of each subscriber."""

from __future__ import annotations

import logging
from collections.abc import Callable

from switchboard.notifier import Signal, Subscriber

_log = logging.getLogger(__name__)


class MemoryNotifier:
    """Delivers a signal to the subscribers of this process, in the order they came."""

    def __init__(self) -> None:
        self._subscribers: dict[int, Subscriber] = {}
        self._next_key = 0

    def publish(self, signal: Signal) -> None:
        """Tell every subscriber now. One that raises is logged and does not harm the others."""
        for subscriber in tuple(self._subscribers.values()):
            try:
                subscriber(signal)
            except Exception:
                _log.exception("subscriber_failed", extra={"signal": type(signal).__name__})

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Be told from now on; the returned function ends that and is safe twice."""
        key = self._next_key
        self._next_key += 1
        self._subscribers[key] = subscriber

        def unsubscribe() -> None:
            self._subscribers.pop(key, None)

        return unsubscribe
