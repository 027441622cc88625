"""The store's part for workspaces, people, operator tokens and queues."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from switchboard.domain.actor import Actor
from switchboard.domain.endpoint import EndpointId
from switchboard.domain.queue import Queue, RingPolicy
from switchboard.domain.workspace import Operator, Person, PersonId, Workspace, WorkspaceId
from switchboard.records import Founding
from switchboard.stores.rows import operator_of, queue_of
from switchboard.stores.sqlite.caches import ReadCache
from switchboard.stores.sqlite.connection import Transaction
from switchboard.stores.sqlite.readers import Readers
from switchboard.stores.sqlite.writer import Writer

T = TypeVar("T")

CHECKPOINT_EVERY = 64
"""Batches between two looks at the length of the write-ahead log."""


class SqlitePeople:
    """Implements `store.People`, and carries what the rest of the store stands on."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers
        self._queues: ReadCache[WorkspaceId, dict[str, Queue]] = ReadCache()

    async def found_if_empty(self, founding: Founding) -> bool:
        return await self._write(lambda tx: _found(tx, founding))

    async def workspace(self, workspace_id: WorkspaceId) -> Workspace | None:
        row = await self._readers.read(lambda tx: tx.one("workspace", workspace_id=workspace_id))
        if row is None:
            return None
        return Workspace(WorkspaceId(row["id"]), row["name"], row["created_at_ms"])

    async def person(self, person_id: PersonId) -> Person | None:
        row = await self._readers.read(lambda tx: tx.one("person", person_id=person_id))
        return (
            None if row is None else Person(PersonId(row["id"]), row["name"], row["created_at_ms"])
        )

    async def operator_by_token(self, token_hash: bytes) -> Operator | None:
        row = await self._readers.read(lambda tx: tx.one("operator_by_token", hash=token_hash))
        return None if row is None else operator_of(row)

    async def replace_local_token(self, token_id: str, token_hash: bytes) -> None:
        await self._write(
            lambda tx: tx.run("replace_local_token", token_id=token_id, hash=token_hash)
        )

    async def queues(self, workspace_id: WorkspaceId) -> Sequence[Queue]:
        kept = self._queues.get(workspace_id)
        if kept is None:
            generation = self._queues.generation
            rows = await self._readers.read(lambda tx: tx.all("queues", workspace_id=workspace_id))
            kept = {row["name"]: queue_of(row) for row in rows}
            self._queues.keep(workspace_id, kept, generation)
        return tuple(kept.values())

    async def set_queue_paused(
        self, workspace_id: WorkspaceId, name: str, paused: bool, actor: Actor
    ) -> Queue | None:
        return await self._set_queue("set_queue_paused", workspace_id, name, paused=int(paused))

    async def set_queue_ring(
        self, workspace_id: WorkspaceId, name: str, ring: RingPolicy, actor: Actor
    ) -> Queue | None:
        return await self._set_queue("set_queue_ring", workspace_id, name, ring=ring.value)

    async def endpoints_with_live_lease(self, workspace_id: WorkspaceId) -> Collection[EndpointId]:
        rows = await self._readers.read(
            lambda tx: tx.all("endpoints_with_live_lease", workspace_id=workspace_id)
        )
        return frozenset(EndpointId(row["holder_id"]) for row in rows)

    async def _set_queue(
        self, statement: str, workspace_id: WorkspaceId, name: str, **values: object
    ) -> Queue | None:
        def change(tx: Transaction) -> Queue | None:
            tx.after_commit.append(self._queues.clear)
            row = tx.one(statement, workspace_id=workspace_id, name=name, **values)
            return None if row is None else queue_of(row)

        return await self._write(change)

    def _queues_may_be_new(
        self, tx: Transaction, workspace_id: WorkspaceId, names: Collection[str]
    ) -> None:
        """Called where queues come into being by their name; runs on the writer's thread."""
        known = self._queues.get(workspace_id)
        if known is None or any(name not in known for name in names):
            tx.after_commit.append(self._queues.clear)

    async def _write(self, work: Callable[[Transaction], T]) -> T:
        value = await self._writer.submit(work)
        if self._writer.batches % CHECKPOINT_EVERY == 0:
            self._readers.checkpoint_if_long()
        return value


def _found(tx: Transaction, founding: Founding) -> bool:
    if tx.one("any_workspace") is not None:
        return False
    tx.run("insert_workspace", id=founding.workspace_id, name=founding.workspace_name)
    tx.run("insert_person", id=founding.person_id, name=founding.person_name)
    tx.run(
        "insert_operator_token",
        id=founding.token_id,
        workspace_id=founding.workspace_id,
        person_id=founding.person_id,
        name=founding.token_name,
        role=founding.role,
        hash=founding.token_hash,
    )
    return True
