"""Reading: a few threads with a connection each, so that no read waits behind the writer."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from switchboard.clock import Clock
from switchboard.errors import StoreUnavailable
from switchboard.stores.sqlite.connection import CHECKPOINT_BYTES, Transaction, connect, translated

T = TypeVar("T")

READERS = 2
READ_BOUND_S = 10.0
"""How long a reader of the ledger waits. After that it is told `unavailable`."""

# Passive copies beside the writer; what came meanwhile is then copied with the writer locked out.
# The other way round held every writer up for as long as 16 MiB take to be written, 1 s seen.
_CHECKPOINT = ("PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA wal_checkpoint(RESTART)")


class Readers:
    """A pool of reading connections. `read` belongs to one event loop."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._wal = path.with_name(path.name + "-wal")
        self._clock = clock
        self._pool: ThreadPoolExecutor | None = None
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._checkpointing = False

    def start(self) -> None:
        """Take reads from now on."""
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-reader")

    def stop(self) -> None:
        """Finish the reads under way and close. Safe twice and before start."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        pool.shutdown(wait=True)
        for connection in self._opened:
            connection.close()
        self._opened.clear()
        self._local = threading.local()

    async def read(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` on one snapshot of the ledger."""
        if self._pool is None:
            raise StoreUnavailable("the store is stopping")
        running = asyncio.get_running_loop().run_in_executor(self._pool, self._snapshot, work)
        try:
            return await asyncio.wait_for(running, READ_BOUND_S)
        except TimeoutError as raised:
            raise StoreUnavailable("the database did not answer in time") from raised

    def checkpoint_if_long(self) -> None:
        """Fold the log into the database in the background when it has grown long."""
        if self._pool is None or self._checkpointing or not self._is_long():
            return
        self._checkpointing = True
        self._pool.submit(self._checkpoint)

    def _is_long(self) -> bool:
        try:
            return self._wal.stat().st_size > CHECKPOINT_BYTES
        except OSError:
            return False

    def _checkpoint(self) -> None:
        try:
            for step in _CHECKPOINT:
                self._connection().execute(step).fetchall()
        except sqlite3.Error:
            pass  # busy: the next batch asks again
        finally:
            self._checkpointing = False

    def _snapshot(self, work: Callable[[Transaction], T]) -> T:
        try:
            connection = self._connection()
            connection.execute("BEGIN")
            try:
                return work(Transaction(connection, self._clock.now_ms()))
            finally:
                connection.execute("ROLLBACK")
        except sqlite3.Error as raised:
            raise translated(raised) from raised

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = connect(self._path)
            self._opened.append(connection)
        return connection
