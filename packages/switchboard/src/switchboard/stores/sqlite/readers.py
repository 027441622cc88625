"""Reading: a few threads with a connection each, so that no read waits behind the writer.

A thread answers all reads that wait from one snapshot, for the same reason that the writer
commits in batches: handing one read over costs as much as reading 20 rows.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from switchboard.clock import Clock
from switchboard.errors import StoreUnavailable
from switchboard.stores.sqlite.connection import CHECKPOINT_BYTES, Transaction, connect, translated
from switchboard.stores.sqlite.inbox import Inbox, Item, Outcome, tell

T = TypeVar("T")

READERS = 2
READ_BOUND_S = 10.0
"""How long a reader of the ledger waits. After that it is told `unavailable`."""
STOP_BOUND_S = 15.0
"""A fold may wait 5 s for a foreign lock; a thread that takes longer ends with the process."""

# Passive copies beside the writer; what came meanwhile is then copied with the writer locked out.
# The other way round held every writer up for as long as 16 MiB take to be written, 1 s seen.
_CHECKPOINT = ("PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA wal_checkpoint(RESTART)")


class Readers:
    """The reading threads, and one that folds the log. `read` belongs to one event loop."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._wal = path.with_name(path.name + "-wal")
        self._clock = clock
        self._inbox = Inbox()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._threads: list[threading.Thread] = []
        self._folding: threading.Thread | None = None

    def start(self) -> None:
        """Take reads from now on."""
        self._loop = asyncio.get_running_loop()
        for number in range(READERS):
            thread = threading.Thread(target=self._run, name=f"sqlite-reader-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Finish the reads under way and close. Safe twice and before start."""
        threads, self._threads = self._threads, []
        for _ in threads:
            self._inbox.close()
        for thread in threads:
            thread.join(STOP_BOUND_S)
        if self._folding is not None:
            self._folding.join(STOP_BOUND_S)

    async def read(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` on one snapshot of the ledger."""
        if not self._threads:
            raise StoreUnavailable("the store is stopping")
        return await self._inbox.submit(work, READ_BOUND_S)

    def checkpoint_if_long(self) -> None:
        """Fold the log into the database in the background when it has grown long."""
        busy = self._folding is not None and self._folding.is_alive()
        if not self._threads or busy or not self._is_long():
            return
        fold = self._checkpoint
        self._folding = threading.Thread(target=fold, name="sqlite-checkpoint", daemon=True)
        self._folding.start()

    def _is_long(self) -> bool:
        try:
            return self._wal.stat().st_size > CHECKPOINT_BYTES
        except OSError:
            return False

    # On the threads

    def _checkpoint(self) -> None:
        try:
            connection = connect(self._path)
            try:
                for step in _CHECKPOINT:
                    connection.execute(step).fetchall()
            finally:
                connection.close()
        except sqlite3.Error:
            pass  # busy: a later batch asks again

    def _run(self) -> None:
        assert self._loop is not None
        connection: sqlite3.Connection | None = None
        goes_on = True
        while goes_on:
            items, goes_on = self._inbox.take()
            if not items:  # another thread was quicker
                continue
            try:
                connection = connection or connect(self._path)
                outcomes = self._answered(connection, items)
            except sqlite3.Error as raised:
                outcomes = [_failed(item, raised) for item in items]
            tell(self._loop, outcomes)
        if connection is not None:
            connection.close()

    def _answered(self, connection: sqlite3.Connection, items: list[Item]) -> list[Outcome]:
        connection.execute("BEGIN")
        try:
            transaction = Transaction(connection, self._clock.now_ms())
            return [_read(item, transaction) for item in items]
        finally:
            connection.execute("ROLLBACK")


def _read(item: Item, transaction: Transaction) -> Outcome:
    try:
        return Outcome(item, item.work(transaction))
    except Exception as raised:
        return _failed(item, raised)


def _failed(item: Item, raised: Exception) -> Outcome:
    if not isinstance(raised, sqlite3.Error):
        return Outcome(item, error=raised)
    error = translated(raised)
    error.__cause__ = raised
    return Outcome(item, error=error)
