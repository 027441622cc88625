"""The embedded ledger: one SQLite file, one writing thread, a few reading ones."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from switchboard.clock import Clock
from switchboard.domain.actor import Actor
from switchboard.domain.credential import RandomBytes
from switchboard.domain.endpoint import Caller
from switchboard.domain.refusal import Refusal
from switchboard.domain.todo import Todo, TodoId
from switchboard.domain.workspace import WorkspaceId
from switchboard.errors import StoreUnavailable
from switchboard.records import (
    Changed,
    Claimed,
    Created,
    NewTodo,
    NothingReady,
    TodoFilter,
    TodoHistory,
    TodoRow,
)
from switchboard.stores.rows import todo_of
from switchboard.stores.sqlite import claims, endings, todos
from switchboard.stores.sqlite.connection import Transaction
from switchboard.stores.sqlite.endpoint_store import SqliteEndpoints
from switchboard.stores.sqlite.readers import Readers
from switchboard.stores.sqlite.writer import Writer

SLICE = 500
"""Rows of one bulk insert per batch, so that agents are served in between."""


class SqliteStore(SqliteEndpoints):
    """Implements `store.Store`. `on_fatal` is called once if the writer's thread ever ends."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock,
        random_bytes: RandomBytes = secrets.token_bytes,
        jitter: random.Random | None = None,
        on_fatal: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(Writer(path, clock, on_fatal=on_fatal), Readers(path, clock), clock)
        self._jitter = jitter or random.Random(int.from_bytes(random_bytes(8), "big"))

    async def start(self) -> None:
        await self._writer.start()
        self._readers.start()

    async def stop(self) -> None:
        await self._writer.stop()
        self._readers.stop()

    async def ping(self) -> None:
        if self._writer.dead:
            raise StoreUnavailable("the writer has died")
        await self._readers.read(lambda tx: tx.one("ping"))

    # Agents

    async def claim_next_ready(
        self,
        caller: Caller,
        queues: Sequence[str],
        lease_ms: int,
        token_hash: bytes,
        claim_key: str | None = None,
    ) -> Claimed | NothingReady | Refusal:
        return await self._write(
            lambda tx: claims.claim_next_ready(tx, caller, queues, lease_ms, token_hash, claim_key)
        )

    async def claim_if_ready(
        self,
        caller: Caller,
        todo_id: TodoId,
        lease_ms: int,
        token_hash: bytes,
        claim_key: str | None = None,
    ) -> Claimed | Refusal:
        return await self._write(
            lambda tx: claims.claim_if_ready(tx, caller, todo_id, lease_ms, token_hash, claim_key)
        )

    async def undo_claim(self, caller: Caller, todo_id: TodoId, token_hash: bytes) -> Todo | None:
        return await self._write(lambda tx: claims.undo_claim(tx, caller, todo_id, token_hash))

    async def heartbeat_if_held(
        self,
        caller: Caller,
        todo_id: TodoId,
        token_hash: bytes | None,
        lease_ms: int,
        note: str | None,
    ) -> Changed | Refusal:
        return await self._write(
            lambda tx: endings.heartbeat_if_held(tx, caller, todo_id, token_hash, lease_ms, note)
        )

    async def complete_if_held(
        self,
        caller: Caller,
        todo_id: TodoId,
        token_hash: bytes | None,
        result_json: str | None,
        summary: str | None,
    ) -> Changed | Refusal:
        return await self._write(
            lambda tx: endings.complete_if_held(
                tx, caller, todo_id, token_hash, result_json, summary
            )
        )

    async def fail_if_held(
        self,
        caller: Caller,
        todo_id: TodoId,
        token_hash: bytes | None,
        reason: str | None,
        summary: str | None,
        retry: bool,
    ) -> Changed | Refusal:
        return await self._write(
            lambda tx: endings.fail_if_held(
                tx, caller, todo_id, token_hash, reason, summary, retry, self._jitter
            )
        )

    async def release_if_held(
        self, caller: Caller, todo_id: TodoId, token_hash: bytes | None, delay_ms: int
    ) -> Changed | Refusal:
        return await self._write(
            lambda tx: endings.release_if_held(tx, caller, todo_id, token_hash, delay_ms)
        )

    async def create_in_scope(self, caller: Caller, new: NewTodo) -> Created | Refusal:
        def create(tx: Transaction) -> Created | Refusal:
            self._queues_may_be_new(tx, caller.workspace_id, (new.queue,))
            return todos.create_in_scope(tx, caller, new)

        return await self._write(create)

    async def list_in_scope(self, caller: Caller, wanted: TodoFilter) -> Sequence[TodoRow]:
        if wanted.queues is None:
            wanted = TodoFilter(caller.queues, wanted.states, wanted.limit, wanted.before_id)
        return await self._readers.read(
            lambda tx: todos.list_rows(tx, caller.workspace_id, wanted, caller)
        )

    async def todo_in_scope(self, caller: Caller, todo_id: TodoId) -> TodoHistory | None:
        return await self._readers.read(lambda tx: todos.shown_in_scope(tx, caller, todo_id))

    # People and the service itself

    async def create_todos(
        self, workspace_id: WorkspaceId, todos: Sequence[NewTodo], actor: Actor
    ) -> Sequence[Created]:
        created: list[Created] = []
        for start in range(0, len(todos), SLICE):
            part = todos[start : start + SLICE]
            created += await self._write(partial(self._create, workspace_id, part, actor))
        return created

    async def todo(self, workspace_id: WorkspaceId, todo_id: TodoId) -> TodoHistory | None:
        return await self._readers.read(lambda tx: todos.history_of(tx, workspace_id, todo_id))

    async def list_todos(self, workspace_id: WorkspaceId, wanted: TodoFilter) -> Sequence[TodoRow]:
        return await self._readers.read(lambda tx: todos.list_rows(tx, workspace_id, wanted, None))

    async def retry_if_failed(
        self, workspace_id: WorkspaceId, todo_id: TodoId, actor: Actor
    ) -> Changed | Refusal:
        return await self._write(lambda tx: todos.retry_if_failed(tx, workspace_id, todo_id, actor))

    async def cancel_if_live(
        self, workspace_id: WorkspaceId, todo_id: TodoId, actor: Actor
    ) -> Changed | Refusal:
        return await self._write(lambda tx: todos.cancel_if_live(tx, workspace_id, todo_id, actor))

    async def release_if_claimed(
        self, workspace_id: WorkspaceId, todo_id: TodoId, actor: Actor
    ) -> Changed | Refusal:
        return await self._write(
            lambda tx: todos.release_if_claimed(tx, workspace_id, todo_id, actor)
        )

    async def sweep_lapsed(self, limit: int) -> Sequence[Todo]:
        return await self._write(lambda tx: claims.sweep_lapsed(tx, min(limit, SLICE)))

    async def became_ready(self, after_ms: int, limit: int) -> tuple[Sequence[Todo], int]:
        def look(tx: Transaction) -> tuple[list[Todo], int]:
            rows = tx.all("became_ready", after_ms=after_ms, limit=limit)
            return [todo_of(row) for row in rows], tx.now_ms

        return await self._readers.read(look)

    async def ready_in_queue(
        self, workspace_id: WorkspaceId, queue: str, limit: int
    ) -> Sequence[Todo]:
        def look(tx: Transaction) -> list[Todo]:
            rows = tx.all("ready_in_queue", workspace_id=workspace_id, queue=queue, limit=limit)
            return [todo_of(row) for row in rows]

        return await self._readers.read(look)

    async def ready_for(self, caller: Caller, limit: int) -> tuple[Sequence[Todo], int]:
        return await self._readers.read(lambda tx: claims.ready_for(tx, caller, limit))

    async def count_ring(self, todo_id: TodoId) -> None:
        await self._write(lambda tx: tx.run("count_ring", todo_id=todo_id))

    def _create(
        self, workspace_id: WorkspaceId, part: Sequence[NewTodo], actor: Actor, tx: Transaction
    ) -> list[Created]:
        self._queues_may_be_new(tx, workspace_id, {new.queue for new in part})
        return todos.create_todos(tx, workspace_id, part, actor)
