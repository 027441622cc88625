"""Rates: token buckets, and the window that counts failures. The clock is passed in, in seconds.

Both remember a bounded number of keys, the most recently used ones: keys may be addresses, and
strangers have many.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

REMEMBERED_KEYS = 4096
FAILURES_PER_WINDOW = 20
FAILURE_WINDOW_S = 60.0
_LEAST_SPREAD_S = 3


@dataclass(frozen=True, slots=True)
class Rate:
    """So many a second on average, and at most `burst` at once."""

    per_second: float
    burst: int

    def __post_init__(self) -> None:
        if not (0 < self.per_second < math.inf and self.burst >= 1):
            raise ValueError("a rate needs a positive number per second and a burst of at least 1")


class Buckets:
    """One token bucket per key, all of one rate.

    A bucket is one number: the moment at which it will be full again. So a key costs a dictionary
    entry, and a key that was forgotten is simply a full bucket.
    """

    def __init__(self, rate: Rate, *, remembered: int = REMEMBERED_KEYS) -> None:
        self._interval_s = 1.0 / rate.per_second
        self._depth_s = rate.burst / rate.per_second
        self._full_at_s: OrderedDict[str, float] = OrderedDict()
        self._remembered = remembered

    def take(self, key: str, now_s: float) -> float:
        """Take a token. Gives 0.0, or the seconds until there is one (nothing is then taken)."""
        full_at_s = max(self._full_at_s.get(key, now_s), now_s) + self._interval_s
        wait_s = full_at_s - now_s - self._depth_s
        # Sums of intervals come out a hair above the depth; that is not a request too many.
        if wait_s > self._interval_s * 1e-6:
            return wait_s
        self._full_at_s[key] = full_at_s
        self._full_at_s.move_to_end(key)
        if len(self._full_at_s) > self._remembered:
            self._full_at_s.popitem(last=False)
        return 0.0


class FailureWindow:
    """Counts failures per key over a sliding window, and says when a key has had too many.

    A failure beyond the limit is not recorded, so the wait it is told stays true.
    """

    def __init__(
        self,
        *,
        limit: int = FAILURES_PER_WINDOW,
        window_s: float = FAILURE_WINDOW_S,
        remembered: int = REMEMBERED_KEYS,
    ) -> None:
        self._limit = limit
        self._window_s = window_s
        self._remembered = remembered
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    def count(self, key: str, now_s: float) -> float:
        """Count a failure. Gives 0.0, or the seconds until this key is heard again."""
        times = self._failures.get(key)
        if times is None:
            times = self._failures[key] = deque(maxlen=self._limit)
            if len(self._failures) > self._remembered:
                self._failures.popitem(last=False)
        self._failures.move_to_end(key)
        if len(times) == self._limit:
            wait_s = times[0] + self._window_s - now_s
            if wait_s > 0:
                return wait_s
        times.append(now_s)
        return 0.0


def retry_after(wait_s: float, random: Callable[[], float]) -> tuple[bytes, bytes]:
    """The Retry-After header for a wait: whole seconds, never too early, spread out.

    Without the spread everyone who was refused together comes back together. `random` gives
    numbers in [0, 1).
    """
    least_s = max(1, math.ceil(wait_s))
    spread_s = max(_LEAST_SPREAD_S, least_s // 4)
    return b"retry-after", str(least_s + int(random() * spread_s)).encode("ascii")
