"""The notifier of many processes: LISTEN and NOTIFY on one connection that heals itself.

A replica hears its own signals by a plain call. The others are told after the fact, in batches,
by a transaction of its own: a notification in the ledger's transaction would make every commit
wait for every other one, because PostgreSQL writes the queue of notifications under one lock.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Protocol, cast

import asyncpg

from switchboard.domain.todo import State, Todo, TodoId
from switchboard.notifier import Signal, SignalsMissed, Subscriber, TodoReady, TodoReleased
from switchboard.notifiers.memory import MemoryNotifier
from switchboard.notifiers.messages import (
    Message,
    ReadyTodo,
    ReleasedTodo,
    Told,
    parse,
    texts,
    told_of,
)

_log = logging.getLogger(__name__)

CHANNEL = "switchboard"
POLL_EVERY_S = 5.0
"""While nothing is heard, so often everybody is told to look at the ledger."""
PROBE_BOUND_S = 2.0
"""How long a notification to oneself may take before listening counts as not working."""
LISTEN_AGAIN_AFTER_S = 60.0
"""So long nothing but polling is tried on a connection that cannot listen."""
ALIVE_EVERY_S = 10.0
"""A connection that died without a word is found within this and `STATEMENT_BOUND_S`."""
STATEMENT_BOUND_S = 5.0
BACK_OFF_FIRST_S = 0.1
BACK_OFF_MOST_S = 5.0
START_BOUND_S = 5.0
STOP_BOUND_S = 2.0
UNSENT_AT_MOST = 10_000
UNREAD_AT_MOST = 10_000
AT_A_STROKE = 500
REPLICAS_KNOWN = 1_024

_TELL = """
SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, message)
FROM unnest($2::text[]) AS message
"""
"""Not worth the wait for a disk: what a crash loses here, the ledger still has."""


class Connection(Protocol):
    """What the notifier asks of a connection to the database."""

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str: ...

    async def add_listener(self, channel: str, callback: Callable[..., None]) -> None: ...

    def add_termination_listener(self, callback: Callable[..., None]) -> None: ...

    def is_closed(self) -> bool: ...

    async def close(self, *, timeout: float | None = None) -> None: ...

    def terminate(self) -> None: ...


Connect = Callable[[], Awaitable[Connection]]
ReadTodos = Callable[[Collection[TodoId]], Awaitable[Sequence[Todo]]]
"""Todos by their ids, those that exist."""


def connecting_to(url: str) -> Connect:
    """Connections to `url` that work behind a pooler too: no statement outlives its use."""
    driver = cast(Any, asyncpg)

    async def connect() -> Connection:
        return await driver.connect(url, statement_cache_size=0, timeout=START_BOUND_S)

    return connect


class PostgresNotifier:
    """Implements `notifier.Notifier` for all processes that share a database and a channel.

    `connect` gives a new connection of our own. `poll_every_s` bounds what a lost signal costs.
    """

    def __init__(
        self,
        connect: Connect,
        read_todos: ReadTodos,
        *,
        channel: str = CHANNEL,
        poll_every_s: float = POLL_EVERY_S,
    ) -> None:
        self._connect = connect
        self._read_todos = read_todos
        self._channel = channel
        self._poll_every_s = poll_every_s
        self._replica = secrets.token_hex(8)
        self._number = 0
        self._in_flight: list[str] = []
        self._heard: dict[str, int] = {}
        self._local = MemoryNotifier()
        self._unsent: deque[Told] = deque(maxlen=UNSENT_AT_MOST)
        self._unread: deque[ReadyTodo | ReleasedTodo] = deque(maxlen=UNREAD_AT_MOST)
        self._something_unread = asyncio.Event()
        self._wake = asyncio.Event()
        self._tried = asyncio.Event()
        self._probed = asyncio.Event()
        self._stopping = False
        self._failing_since: float | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.is_listening = False
        """Whether the signals of others are heard at once; otherwise polling finds them."""

    async def start(self) -> None:
        """Begin to listen. Returns when that was tried once, and goes on trying."""
        self._stopping = False
        self._tried.clear()
        loops = (self._keep_connected(), self._keep_polling(), self._keep_reading())
        self._tasks = [asyncio.create_task(loop) for loop in loops]
        async with asyncio.timeout(START_BOUND_S + PROBE_BOUND_S):
            await self._tried.wait()

    async def stop(self) -> None:
        """Tell the others what is untold, within a bound, and close. Safe twice."""
        self._stopping = True
        self._wake.set()
        tasks, self._tasks = self._tasks, []
        if not tasks:
            return
        connected, *others = tasks
        for task in others:
            task.cancel()
        await asyncio.wait({connected}, timeout=STOP_BOUND_S)
        connected.cancel()
        await asyncio.wait(tasks)

    def publish(self, signal: Signal) -> None:
        """Tell the subscribers of this process now; the others are told by the connection."""
        self._local.publish(signal)
        told = told_of(signal)
        if told is not None:
            self._unsent.append(told)
            self._wake.set()

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Be told from now on; the returned function ends that and is safe twice."""
        return self._local.subscribe(subscriber)

    # The connection

    async def _keep_connected(self) -> None:
        back_off_s = BACK_OFF_FIRST_S
        while not self._stopping:
            try:
                async with asyncio.timeout(START_BOUND_S):
                    connection = await self._connect()
                try:
                    await self._use(connection)
                    back_off_s = BACK_OFF_FIRST_S
                finally:
                    self.is_listening = False
                    await _close(connection)
            except Exception as error:  # whatever ended it, the next connection may work
                if self._failing_since is None:
                    self._failing_since = asyncio.get_running_loop().time()
                    _log.warning("notifier_lost", extra={"reason": type(error).__name__})
            self._tried.set()
            if not self._stopping:
                await self._pause(back_off_s * random.uniform(0.5, 1.0))
                back_off_s = min(back_off_s * 2, BACK_OFF_MOST_S)

    async def _use(self, connection: Connection) -> None:
        """Send and hear on a connection until it ends or we stop."""
        connection.add_termination_listener(self._on_termination)
        await connection.add_listener(self._channel, self._on_notification)
        loop = asyncio.get_running_loop()
        listen_again_at = loop.time()
        while not self._stopping and not connection.is_closed():
            if not self.is_listening and loop.time() >= listen_again_at:
                await self._try_to_listen(connection)
                listen_again_at = loop.time() + LISTEN_AGAIN_AFTER_S
            self._wake.clear()
            if self._unsent or self._in_flight:
                await self._send(connection)
            elif not await self._woken_within(ALIVE_EVERY_S):
                await connection.execute("SELECT 1", timeout=STATEMENT_BOUND_S)
        while (self._unsent or self._in_flight) and not connection.is_closed():
            await self._send(connection)
        if not self._stopping:
            raise ConnectionError("the connection was ended")

    async def _try_to_listen(self, connection: Connection) -> None:
        """Whether a notification sent from elsewhere arrives: behind a pooler that lends a
        session for one transaction at a time, LISTEN succeeds and nothing is ever heard."""
        self._probed.clear()
        async with asyncio.timeout(START_BOUND_S):
            other = await self._connect()
        try:
            probe = f'["{self._replica}",0,[]]'
            await other.execute(_TELL, self._channel, [probe], timeout=STATEMENT_BOUND_S)
            await asyncio.wait_for(self._probed.wait(), PROBE_BOUND_S)
        except TimeoutError:
            hint = "a pooler in transaction mode has no LISTEN; signals are polled for instead"
            _log.warning("notifier_polls", extra={"detail": hint})
        else:
            self._listens()
        finally:
            await _close(other)
        self._tried.set()

    def _listens(self) -> None:
        self.is_listening = True
        since, self._failing_since = self._failing_since, None
        if since is not None:
            away_s = asyncio.get_running_loop().time() - since
            _log.info("notifier_back", extra={"after_s": round(away_s, 1)})
        if self._tried.is_set():
            self._local.publish(SignalsMissed())  # what was told in between was not heard

    async def _send(self, connection: Connection) -> None:
        if not self._in_flight:
            told = [self._unsent.popleft() for _ in range(min(len(self._unsent), AT_A_STROKE))]
            self._in_flight = texts(self._replica, self._number + 1, told)
            self._number += len(self._in_flight)
        # After a failure they may have arrived: they are sent again as they are, under their
        # numbers, and whoever has them already lets them be.
        await connection.execute(_TELL, self._channel, self._in_flight, timeout=STATEMENT_BOUND_S)
        self._in_flight = []

    async def _pause(self, seconds: float) -> None:
        self._wake.clear()
        deadline = asyncio.get_running_loop().time() + seconds
        while not self._stopping:
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0 or not await self._woken_within(left_s):
                return
            self._wake.clear()

    async def _woken_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return False
        return True

    def _on_termination(self, _: object) -> None:
        self._wake.set()

    # What others tell

    def _on_notification(self, _: object, __: int, ___: str, text: str) -> None:
        message = parse(text)
        if message is None:
            _log.debug("notification_ignored")
        elif message.replica == self._replica:
            if not message.told:
                self._probed.set()
        elif message.told and self._is_new(message):
            self._take(message.told)

    def _is_new(self, message: Message) -> bool:
        """A sender that lost its connection may have told twice."""
        last = self._heard.pop(message.replica, 0)
        self._heard[message.replica] = max(last, message.number)
        if len(self._heard) > REPLICAS_KNOWN:
            del self._heard[next(iter(self._heard))]
        return message.number > last

    def _take(self, told: Sequence[Told]) -> None:
        """Ends go on at once. What is told of todos waits until they have been read."""
        for one in told:
            if isinstance(one, (ReadyTodo, ReleasedTodo)):
                self._unread.append(one)
                self._something_unread.set()
            else:
                self._local.publish(one)

    async def _keep_reading(self) -> None:
        while True:
            await self._something_unread.wait()
            self._something_unread.clear()
            while self._unread:
                count = min(len(self._unread), AT_A_STROKE)
                await self._read([self._unread.popleft() for _ in range(count)])

    async def _read(self, told: Sequence[ReadyTodo | ReleasedTodo]) -> None:
        try:
            todos = await self._read_todos({one.todo_id for one in told})
        except Exception as error:  # a signal may be lost; what it told of is found by asking
            if self._failing_since is None:
                _log.warning("signals_unread", extra={"reason": type(error).__name__})
            return
        found = {todo.id: todo for todo in todos}
        for one in told:
            todo = found.get(one.todo_id)
            if todo is None:
                continue
            if isinstance(one, ReleasedTodo):
                self._local.publish(TodoReleased(todo, one.by))
            elif todo.state is State.PENDING:
                self._local.publish(TodoReady(todo))

    async def _keep_polling(self) -> None:
        while True:
            await asyncio.sleep(self._poll_every_s)
            if not self.is_listening:
                self._local.publish(SignalsMissed())


async def _close(connection: Connection) -> None:
    """Whatever the connection is in the middle of, it is gone afterwards."""
    try:
        await connection.close(timeout=STOP_BOUND_S)
    except Exception:  # one that is broken cannot be closed in order
        connection.terminate()
