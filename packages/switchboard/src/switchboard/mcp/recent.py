"""What happened lately: a bounded memory of keys and times, for limits that may be forgotten."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

REMEMBERED = 32_768
"""Three todos of each endpoint that a full listener holds, and then some: below 8 MiB. The oldest
go first. A forgotten key costs a ring too many, never one too few."""

K = TypeVar("K", bound=Hashable)


class Recent(Generic[K]):
    """Keys that were noted less than `keep_ms` ago."""

    def __init__(self, keep_ms: int) -> None:
        self._keep_ms = keep_ms
        self._noted: dict[K, int] = {}

    def note(self, key: K, now_ms: int) -> None:
        """This happens now."""
        self._noted.pop(key, None)
        self._noted[key] = now_ms
        if len(self._noted) > REMEMBERED:
            del self._noted[next(iter(self._noted))]

    def holds(self, key: K, now_ms: int) -> bool:
        """Whether it happened lately."""
        noted_ms = self._noted.get(key)
        return noted_ms is not None and now_ms - noted_ms < self._keep_ms
