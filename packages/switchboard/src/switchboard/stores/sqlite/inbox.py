"""Work on its way from the event loop to a thread of the store, and what came of it back.

What waits is taken all at once and answered all at once: waking a thread, or the event loop,
costs more than many of the statements in between.
"""

from __future__ import annotations

import asyncio
import logging
import queue
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
    """Where one event loop leaves work for the threads that `take` it."""

    def __init__(self) -> None:
        self._items: queue.SimpleQueue[Item | None] = queue.SimpleQueue()

    def __len__(self) -> int:
        """How much waits to be taken up."""
        return self._items.qsize()

    async def submit(self, work: Callable[[Transaction], T], bound_s: float) -> T:
        """Have `work` done. A caller cancelled before it was taken up has caused nothing."""
        loop = asyncio.get_running_loop()
        item = Item(work, loop.create_future())
        timer = loop.call_later(bound_s, item.expire)
        self._items.put(item)
        try:
            return await item.future
        finally:
            timer.cancel()
            item.take()

    def close(self) -> None:
        """One thread that takes will learn that nothing comes any more."""
        self._items.put(None)

    # On the threads

    def take(self) -> tuple[list[Item], bool]:
        """Wait for work, then take all of it, up to a batch. False: the inbox was closed."""
        first = self._items.get()
        rest, goes_on = ([], False) if first is None else self.take_waiting(MAX_BATCH - 1)
        items = rest if first is None else [first, *rest]
        return [item for item in items if item.take()], goes_on

    def take_waiting(self, limit: int) -> tuple[list[Item], bool]:
        """What waits now, not yet won. False: the inbox was closed."""
        items: list[Item] = []
        while len(items) < limit:
            try:
                item = self._items.get_nowait()
            except queue.Empty:
                break
            if item is None:
                return items, False
            items.append(item)
        return items, True


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
