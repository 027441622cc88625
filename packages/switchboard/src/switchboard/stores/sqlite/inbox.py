"""Work on its way from the event loop to a thread of the store, and what came of it back.

What waits is taken all at once and answered all at once: waking a thread, or the event loop,
costs more than many of the statements in between.
"""

from __future__ import annotations

import asyncio
import logging
import queue
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from switchboard.errors import StoreUnavailable
from switchboard.stores.sqlite.connection import Transaction

_log = logging.getLogger(__name__)
T = TypeVar("T")

MAX_BATCH = 256

Work = Callable[[Transaction], Any]


class Item:
    """One piece of work. Whoever empties `_unclaimed` decides: taken up, or abandoned."""

    __slots__ = ("_unclaimed", "future", "work")

    def __init__(self, work: Work, future: asyncio.Future[Any]) -> None:
        self.work = work
        self.future = future
        self._unclaimed = [None]

    def take(self) -> bool:
        """Win the item, once: list.pop is atomic between threads."""
        try:
            self._unclaimed.pop()
        except IndexError:
            return False
        return True

    def expire(self) -> None:
        """The caller has waited long enough."""
        self.take()
        if not self.future.done():
            self.future.set_exception(StoreUnavailable("the database did not come to it in time"))


@dataclass(slots=True)
class Outcome:
    """What came of an item."""

    item: Item
    value: Any = None
    error: BaseException | None = None


class Inbox:
    """Where one event loop leaves work for the threads that `take` it.

    What is submitted in one step of the loop wakes a thread once, at the end of that step.
    """

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        self._calls: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._is_calling = False

    def __len__(self) -> int:
        """How much waits to be taken up."""
        return len(self._items)

    async def submit(self, work: Callable[[Transaction], T], bound_s: float) -> T:
        """Have `work` done. A caller cancelled before it was taken up has caused nothing."""
        loop = asyncio.get_running_loop()
        item = Item(work, loop.create_future())
        timer = loop.call_later(bound_s, item.expire)
        self._items.append(item)
        if not self._is_calling:
            self._is_calling = True
            loop.call_soon(self._call)
        try:
            return await item.future
        finally:
            timer.cancel()
            item.take()

    def close(self) -> None:
        """One thread that takes will learn that nothing comes any more."""
        self._calls.put(False)

    def _call(self) -> None:
        self._is_calling = False
        if self._items:
            self._calls.put(True)

    # On the threads

    def take(self) -> tuple[list[Item], bool]:
        """Wait for work, then take what is there, up to a batch. False: the inbox was closed."""
        goes_on = self._calls.get()
        items = self.take_waiting()
        if self._items:  # more than a batch: the rest is called for once more
            self._calls.put(goes_on)
            goes_on = True
        return items, goes_on

    def take_waiting(self) -> list[Item]:
        """What waits now, up to a batch."""
        items: list[Item] = []
        while len(items) < MAX_BATCH:
            try:
                item = self._items.popleft()
            except IndexError:
                break
            if item.take():
                items.append(item)
        return items


def tell(
    loop: asyncio.AbstractEventLoop,
    outcomes: Sequence[Outcome],
    after: Iterable[Callable[[], None]] = (),
) -> None:
    """Run `after` on the event loop, then let the callers of all outcomes go on."""
    try:
        loop.call_soon_threadsafe(_resolve, outcomes, after)
    except RuntimeError:
        _log.warning("loop_closed_before_outcome")


def _resolve(outcomes: Sequence[Outcome], after: Iterable[Callable[[], None]]) -> None:
    for step in after:
        step()
    for outcome in outcomes:
        future = outcome.item.future
        if future.done():
            continue
        if outcome.error is None:
            future.set_result(outcome.value)
        else:
            future.set_exception(outcome.error)
