"""An event loop that runs ready tasks in an order drawn from a seed.

asyncio steps tasks in the order in which they became ready, on every run: code that leans on it
passes a thousand times and breaks when a socket is a little slower. Here each step is drawn.

Callbacks that are no task's step keep their order among themselves, for asyncio's transports and
futures promise it to each other. The seed decides the order of what is ready together; when the
kernel or the writer's thread makes something ready it cannot decide, so a seed finds a fault
again soon, not always at once.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque


class ShuffledLoop(asyncio.SelectorEventLoop):
    """The selector loop with another way to pick what runs next."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed
        self._ready = _Shuffled(random.Random(seed))


class _Shuffled(deque[asyncio.Handle]):
    """The loop's queue of ready handles; the loop appends and calls `popleft`, nothing else."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._chance = chance

    def popleft(self) -> asyncio.Handle:
        # Other threads append meanwhile: one look, and one removal at a place that stays.
        waiting = list(self)
        at = self._chance.randrange(_steps_in_front(waiting) + 1)
        del self[at]
        return waiting[at]


def _steps_in_front(waiting: list[asyncio.Handle]) -> int:
    """The place of the first callback that is no step, or the last place.

    A step may come late, but never before a callback that was there first: asyncio's own sockets
    are handed to a task behind a callback that tidies up.
    """
    places = (at for at, handle in enumerate(waiting) if not _is_step(handle))
    return next(places, len(waiting) - 1)


def _is_step(handle: asyncio.Handle) -> bool:
    callback = getattr(handle, "_callback", None)
    return isinstance(getattr(callback, "__self__", None), asyncio.Task)
