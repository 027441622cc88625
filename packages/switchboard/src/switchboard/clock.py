"""Time as the service reads it: integer milliseconds since 1970, passed in everywhere."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol


class Clock(Protocol):
    """What the service asks for the time. Tests pass a clock that stands still until moved."""

    def now_ms(self) -> int:
        """Wall-clock milliseconds since 1970 UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Wall-clock milliseconds since 1970 UTC."""
        return time.time_ns() // 1_000_000


def rfc3339(at_ms: int) -> str:
    """A time as the surfaces show it, in UTC with milliseconds: `2026-01-02T03:04:05.678Z`."""
    return f"{_second(at_ms // 1000)}.{at_ms % 1000:03d}Z"


@lru_cache(4096)
def _second(at_s: int) -> str:
    """Kept: a list names the same seconds again and again, and 40 of these were half its cost."""
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%dT%H:%M:%S}"
