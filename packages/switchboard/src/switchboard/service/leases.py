"""What an endpoint does with leases: claim, heartbeat, complete, fail, release."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from switchboard.clock import Clock
from switchboard.domain.credential import RandomBytes, hash_secret, mint_lease_token
from switchboard.domain.endpoint import Caller
from switchboard.domain.refusal import Refusal
from switchboard.domain.todo import State, Todo, TodoId
from switchboard.notifier import Notifier, TodoReady, TodoReleased
from switchboard.records import Changed, Claimed, NothingReady
from switchboard.service.waiting import Waiter, WaitingRoom
from switchboard.store import AgentTodos

RECHECK_S = 5.0
"""A waiting claim asks the ledger at least so often, for a signal may be lost."""


class Ending(Protocol):
    """Tells that whoever waits is gone or must stop."""

    def is_set(self) -> bool: ...

    async def wait(self) -> object: ...


@dataclass(frozen=True, slots=True)
class Lease:
    """A claim that was won. The token is told once and only its hash is kept."""

    claimed: Claimed
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a claim asks for. `todo_id` None: the first ready todo of `queues`."""

    todo_id: TodoId | None
    queues: tuple[str, ...]
    lease_ms: int
    wait_s: float = 0.0
    claim_key: str | None = None


KeepUndo = Callable[[Callable[[], Awaitable[object]]], None]


class Leases:
    """The lease verbs of every endpoint. One object per process."""

    def __init__(
        self,
        store: AgentTodos,
        notifier: Notifier,
        waiting: WaitingRoom,
        clock: Clock,
        random_bytes: RandomBytes,
    ) -> None:
        self._store = store
        self._notifier = notifier
        self._waiting = waiting
        self._clock = clock
        self._random_bytes = random_bytes

    async def claim(
        self, caller: Caller, wanted: Wanted, ending: Ending, keep_undo: KeepUndo
    ) -> Lease | NothingReady | Refusal:
        """Lease a todo, waiting for one if asked to. `keep_undo` gets the way back first."""
        attempt = _Attempt(self._store, self._notifier, caller, wanted)
        keep_undo(attempt.undo)
        if wanted.todo_id is not None or wanted.wait_s <= 0:
            return await self._try(attempt)
        waiter = Waiter(caller, frozenset(wanted.queues))
        self._waiting.enter(waiter)  # before the first try: a todo that comes between wakes it
        try:
            return await self._try_until(attempt, waiter, wanted.wait_s, ending)
        finally:
            untried = self._waiting.leave(waiter)
            if untried is not None:
                self._notifier.publish(TodoReady(untried))

    async def _try_until(
        self, attempt: _Attempt, waiter: Waiter, wait_s: float, ending: Ending
    ) -> Lease | NothingReady | Refusal:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_s
        while True:
            waiter.wake.clear()
            woken_by, waiter.woken_by = waiter.woken_by, None
            try:
                answer = await self._try(attempt)
            except BaseException:  # the ledger failed, or the caller left in the middle of it
                self._pass_on(woken_by, None)
                raise
            self._pass_on(woken_by, answer)
            if not isinstance(answer, NothingReady) or ending.is_set():
                return answer
            left_s = deadline - loop.time()
            if left_s <= 0:
                return answer
            await _first_of(waiter.wake, ending, min(left_s, _pause_s(answer)))
            if ending.is_set():
                return answer

    def _pass_on(
        self, woken_by: Todo | None, answer: Lease | NothingReady | Refusal | None
    ) -> None:
        if woken_by is not None and _is_left(woken_by, answer):
            self._notifier.publish(TodoReady(woken_by))

    async def _try(self, attempt: _Attempt) -> Lease | NothingReady | Refusal:
        token = mint_lease_token(self._random_bytes)
        answer = await attempt.run(hash_secret(token))
        return Lease(answer, token) if isinstance(answer, Claimed) else answer

    async def heartbeat(
        self, caller: Caller, todo_id: TodoId, token: str | None, lease_ms: int, note: str | None
    ) -> Changed | Refusal:
        """Extend a lease."""
        return await self._store.heartbeat_if_held(caller, todo_id, _hash(token), lease_ms, note)

    async def complete(
        self,
        caller: Caller,
        todo_id: TodoId,
        token: str | None,
        result_json: str | None,
        summary: str | None,
    ) -> Changed | Refusal:
        """Finish a todo."""
        return await self._store.complete_if_held(
            caller, todo_id, _hash(token), result_json, summary
        )

    async def fail(
        self,
        caller: Caller,
        todo_id: TodoId,
        token: str | None,
        reason: str | None,
        summary: str | None,
        *,
        retry: bool,
    ) -> Changed | Refusal:
        """Give up an attempt. The todo rings again when its backoff has passed."""
        return await self._store.fail_if_held(caller, todo_id, _hash(token), reason, summary, retry)

    async def release(
        self, caller: Caller, todo_id: TodoId, token: str | None, delay_ms: int
    ) -> Changed | Refusal:
        """Give a todo back free of charge; everybody else is told when it is ready."""
        answer = await self._store.release_if_held(caller, todo_id, _hash(token), delay_ms)
        if isinstance(answer, Changed) and not answer.repeated:
            self._notifier.publish(TodoReleased(answer.todo, caller.endpoint_id))
            if delay_ms == 0:
                self._notifier.publish(TodoReady(answer.todo))
        return answer


class _Attempt:
    """One claim on its way to the ledger. It runs to its end even when the caller is cancelled,
    so that the way back knows whether there is something to take back."""

    def __init__(
        self, store: AgentTodos, notifier: Notifier, caller: Caller, wanted: Wanted
    ) -> None:
        self._store = store
        self._notifier = notifier
        self._caller = caller
        self._wanted = wanted
        self._token_hash = b""
        self._task: asyncio.Task[Claimed | NothingReady | Refusal] | None = None

    async def run(self, token_hash: bytes) -> Claimed | NothingReady | Refusal:
        self._token_hash = token_hash
        self._task = asyncio.create_task(self._ask(token_hash))
        return await asyncio.shield(self._task)

    async def _ask(self, token_hash: bytes) -> Claimed | NothingReady | Refusal:
        wanted = self._wanted
        if wanted.todo_id is not None:
            return await self._store.claim_if_ready(
                self._caller, wanted.todo_id, wanted.lease_ms, token_hash, wanted.claim_key
            )
        return await self._store.claim_next_ready(
            self._caller, wanted.queues, wanted.lease_ms, token_hash, wanted.claim_key
        )

    async def undo(self) -> None:
        """Take the claim back, if it was won: its answer never left.

        A lease that was granted again stays: an earlier answer may have been heard after all.
        """
        if self._task is None:
            return
        answer = await self._task
        if not isinstance(answer, Claimed) or answer.regranted:
            return
        todo = await self._store.undo_claim(self._caller, answer.todo.id, self._token_hash)
        if todo is not None and todo.state is State.PENDING:
            self._notifier.publish(TodoReady(todo))


def _is_left(todo: Todo, answer: Lease | NothingReady | Refusal | None) -> bool:
    """Whether the todo that woke a claim is still there: a better one came, or none was taken."""
    if isinstance(answer, Lease):
        return answer.claimed.todo.id != todo.id
    return not isinstance(answer, NothingReady)


async def _first_of(wake: asyncio.Event, ending: Ending, timeout_s: float) -> None:
    """Return at the first of: woken, ended, time is up."""
    tasks = (asyncio.ensure_future(wake.wait()), asyncio.ensure_future(ending.wait()))
    try:
        await asyncio.wait(tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def _pause_s(nothing: NothingReady) -> float:
    if nothing.next_ready_at_ms is None:
        return RECHECK_S
    due_s = (nothing.next_ready_at_ms - nothing.now_ms) / 1000
    return min(max(due_s, 0.02), RECHECK_S)


def _hash(token: str | None) -> bytes | None:
    return None if token is None else hash_secret(token)
