"""What every request reads: callers and sessions, kept until the commit that changes them.

One process serves one data directory (an OS lock sees to that), so a commit here is the only
thing that can make an entry stale; it clears the cache before anybody is told of it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

MAX_KEPT = 4_096

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ReadCache(Generic[K, V]):
    """A bounded cache whose entries die together. `generation` guards a read under way."""

    def __init__(self) -> None:
        self._kept: OrderedDict[K, V] = OrderedDict()
        self.generation = 0

    def get(self, key: K) -> V | None:
        """What is kept for a key."""
        return self._kept.get(key)

    def keep(self, key: K, value: V, generation: int) -> None:
        """Keep what was read, unless something changed since the read began."""
        if generation != self.generation:
            return
        self._kept[key] = value
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Forget everything, reads under way included."""
        self._kept.clear()
        self.generation += 1
