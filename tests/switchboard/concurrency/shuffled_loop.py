"""An event loop that runs ready tasks in an order drawn from a seed.

asyncio steps tasks in the order in which they became ready, on every run: code that leans on it
passes a thousand times and breaks when a socket is a little slower. Here the order is drawn. Even
seeds draw each step; with odd ones each task has a rank, so that one may stand still while all
others go on, which is how a look and the deed after it come far apart.

Callbacks that are no task's step keep their order among themselves, for asyncio's transports and
futures promise it to each other. The seed decides the order of what is ready together; when the
kernel or the writer's thread makes something ready it cannot decide, so a seed finds a fault
again soon, not always at once.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from typing import cast
from weakref import WeakKeyDictionary

OUT_OF_RANK = 0.02
"""So often a step is drawn all the same: nobody waits for ever."""


class ShuffledLoop(asyncio.SelectorEventLoop):
    """The selector loop with another way to pick what runs next."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed
        self._ready = _Shuffled(random.Random(seed), by_rank=seed % 2 == 1)


class _Shuffled(deque[asyncio.Handle]):
    """The loop's queue of ready handles; the loop appends and calls `popleft`, nothing else."""

    def __init__(self, chance: random.Random, *, by_rank: bool) -> None:
        super().__init__()
        self._chance = chance
        self._by_rank = by_rank
        self._ranks: WeakKeyDictionary[asyncio.Task[object], float] = WeakKeyDictionary()

    def popleft(self) -> asyncio.Handle:
        # Other threads append meanwhile: one look, and one removal at a place that stays.
        waiting = list(self)
        places = range(_steps_in_front(waiting) + 1)
        if self._by_rank and self._chance.random() > OUT_OF_RANK:
            at = max(places, key=lambda place: self._rank(waiting[place]))
        else:
            at = self._chance.choice(places)
        del self[at]
        return waiting[at]

    def _rank(self, handle: asyncio.Handle) -> float:
        task = _task_of(handle)
        return 0.5 if task is None else self._ranks.setdefault(task, self._chance.random())


def _steps_in_front(waiting: list[asyncio.Handle]) -> int:
    """The place of the first callback that is no step, or the last place.

    A step may come late, but never before a callback that was there first: asyncio's own sockets
    are handed to a task behind a callback that tidies up.
    """
    places = (at for at, handle in enumerate(waiting) if _task_of(handle) is None)
    return next(places, len(waiting) - 1)


def _task_of(handle: asyncio.Handle) -> asyncio.Task[object] | None:
    owner: object = getattr(getattr(handle, "_callback", None), "__self__", None)
    return cast("asyncio.Task[object]", owner) if isinstance(owner, asyncio.Task) else None
