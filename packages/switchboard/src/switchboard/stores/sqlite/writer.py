"""The one writer: a thread that carries out changes in batches, one commit a batch.

A batch is BEGIN IMMEDIATE, its changes, one COMMIT; the callers are told in one step of the event
loop. Committing many changes with one sync is what makes durable writes cheap. Should a change
raise, the batch is begun again with each change in a savepoint, so that it falls alone: savepoints
copy each page they touch, 6 to 10 µs a change, and next to no change raises.

Nobody of a batch is acknowledged unless its commit went through: a full disk or an interrupt
rolls the whole transaction back, the changes that looked done included.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from switchboard.clock import Clock
from switchboard.errors import StoreUnavailable
from switchboard.stores.sqlite.connection import Transaction, connect, migrate, translated
from switchboard.stores.sqlite.inbox import Inbox, Item, Outcome, tell

_log = logging.getLogger(__name__)
T = TypeVar("T")

SUBMIT_BOUND_S = 10.0
"""How long a caller waits for its change. After that it is told `unavailable`."""
STOP_BOUND_S = 15.0


class Writer:
    """Owns the writing connection and its thread. `submit` belongs to one event loop."""

    def __init__(
        self, path: Path, clock: Clock, *, on_fatal: Callable[[], None] | None = None
    ) -> None:
        self._path = path
        self._clock = clock
        self._on_fatal = on_fatal
        self._inbox = Inbox()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None
        self._stopping = True
        self.dead = False
        self.batches = 0

    async def start(self) -> None:
        """Open, migrate, and begin. Raises what `migrate` raises, and `StoreUnavailable`."""
        self._loop = asyncio.get_running_loop()
        self._connection = await self._loop.run_in_executor(None, self._open)
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="sqlite-writer", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Take nothing new, finish what was submitted, close. Safe twice and before start."""
        self._stopping = True
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._inbox.close()
        await asyncio.get_running_loop().run_in_executor(None, thread.join, STOP_BOUND_S)

    @property
    def waiting(self) -> int:
        """How many changes wait to be taken up."""
        return len(self._inbox)

    async def submit(self, work: Callable[[Transaction], T]) -> T:
        """Carry out `work` in a transaction and return its value once that is durable.

        A caller cancelled before the writer took its change up has changed nothing. `work` may
        run twice: it reads and writes through its transaction alone.
        """
        if self._stopping or self.dead:
            raise StoreUnavailable("the store is stopping")
        return await self._inbox.submit(work, SUBMIT_BOUND_S)

    def _open(self) -> sqlite3.Connection:
        try:
            connection = connect(self._path)
            try:
                migrate(connection)
            except BaseException:
                connection.close()
                raise
            return connection
        except sqlite3.DatabaseError as raised:
            raise translated(raised) from raised

    # On the thread

    def _run(self) -> None:
        assert self._connection is not None
        try:
            while self._serve_batch(self._connection):
                pass
        except BaseException:
            _log.critical("writer_died", exc_info=True)
            self.dead = True
            if self._on_fatal is not None and self._loop is not None:
                self._loop.call_soon_threadsafe(self._on_fatal)
            self._fail_queued()
        finally:
            self._connection.close()

    def _serve_batch(self, connection: sqlite3.Connection) -> bool:
        """Carry out what waits, up to a batch. False: the stop marker was met."""
        self._assert_own_thread()
        taken, goes_on = self._inbox.take()
        if taken:
            try:
                outcomes, after = self._commit(connection, taken)
            except BaseException:
                lost = StoreUnavailable("the writer has died")
                self._tell([Outcome(item, error=lost) for item in taken], [])
                raise
            self.batches += 1
            self._tell(outcomes, after)
        return goes_on

    def _commit(
        self, connection: sqlite3.Connection, items: list[Item]
    ) -> tuple[list[Outcome], list[Callable[[], None]]]:
        try:
            done = self._together(connection, items)
            return self._apart(connection, items) if done is None else done
        except sqlite3.Error as raised:
            _log.error("batch_lost", exc_info=raised)
            self._roll_back(connection)
            error = translated(raised)
            lost = StoreUnavailable(str(error))
            lost.__cause__ = raised
            return [Outcome(item, error=lost) for item in items], []

    def _together(
        self, connection: sqlite3.Connection, items: list[Item]
    ) -> tuple[list[Outcome], list[Callable[[], None]]] | None:
        """The batch as one; None: a change raised, and nothing has happened."""
        transaction = Transaction(connection, self._clock.now_ms())
        connection.execute("BEGIN IMMEDIATE")
        try:
            outcomes = [Outcome(item, item.work(transaction)) for item in items]
        except Exception as raised:
            _raise_if_gone(connection, raised)
            connection.execute("ROLLBACK")
            return None
        connection.execute("COMMIT")
        return outcomes, transaction.after_commit

    def _apart(
        self, connection: sqlite3.Connection, items: list[Item]
    ) -> tuple[list[Outcome], list[Callable[[], None]]]:
        transaction = Transaction(connection, self._clock.now_ms())
        connection.execute("BEGIN IMMEDIATE")
        outcomes = [self._carry_out(connection, transaction, item) for item in items]
        connection.execute("COMMIT")
        return outcomes, transaction.after_commit

    def _carry_out(
        self, connection: sqlite3.Connection, transaction: Transaction, item: Item
    ) -> Outcome:
        told = len(transaction.after_commit)
        connection.execute("SAVEPOINT item")
        try:
            value = item.work(transaction)
        except Exception as raised:
            _raise_if_gone(connection, raised)
            connection.execute("ROLLBACK TO item")
            connection.execute("RELEASE item")
            del transaction.after_commit[told:]
            return Outcome(item, error=_as_told(raised))
        connection.execute("RELEASE item")
        return Outcome(item, value)

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        if connection.in_transaction:
            try:
                connection.execute("ROLLBACK")
            except sqlite3.Error:
                _log.exception("rollback_failed")

    def _tell(self, outcomes: list[Outcome], after: list[Callable[[], None]]) -> None:
        assert self._loop is not None
        tell(self._loop, outcomes, after)

    def _fail_queued(self) -> None:
        lost = StoreUnavailable("the writer has died")
        while queued := self._inbox.take_waiting():
            self._tell([Outcome(item, error=lost) for item in queued], [])

    def _assert_own_thread(self) -> None:
        assert threading.current_thread().name == "sqlite-writer", "only the writer thread writes"


def _raise_if_gone(connection: sqlite3.Connection, raised: Exception) -> None:
    """A full disk or an interrupt ends the transaction itself; then the batch is lost."""
    if connection.in_transaction:
        return
    if isinstance(raised, sqlite3.Error):
        raise raised
    raise sqlite3.OperationalError("the transaction is gone") from raised


def _as_told(raised: Exception) -> Exception:
    if isinstance(raised, sqlite3.Error):
        error = translated(raised)
        error.__cause__ = raised
        return error
    return raised
