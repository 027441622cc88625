"""The store's part for endpoints, their credentials and MCP sessions, with the read caches."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from switchboard.clock import Clock
from switchboard.domain.actor import Actor
from switchboard.domain.endpoint import Caller, Endpoint, EndpointId, Protocol
from switchboard.domain.refusal import Refusal
from switchboard.domain.workspace import WorkspaceId
from switchboard.records import (
    Ended,
    EndedCredential,
    NewCredential,
    NewEndpoint,
    Replaced,
    Rotated,
    Session,
)
from switchboard.stores.rows import caller_of, endpoint_of, session_of
from switchboard.stores.sqlite import endpoints
from switchboard.stores.sqlite.caches import ReadCache
from switchboard.stores.sqlite.connection import Transaction
from switchboard.stores.sqlite.people import SqlitePeople
from switchboard.stores.sqlite.readers import Readers
from switchboard.stores.sqlite.writer import Writer


class SqliteEndpoints(SqlitePeople):
    """Implements `store.Endpoints`. What a commit makes stale is forgotten before it is told."""

    def __init__(self, writer: Writer, readers: Readers, clock: Clock) -> None:
        super().__init__(writer, readers)
        self._clock = clock
        self._callers: ReadCache[bytes, Caller] = ReadCache()
        self._sessions: ReadCache[tuple[EndpointId, str], Session] = ReadCache()

    async def vend_endpoint(
        self, workspace_id: WorkspaceId, new: NewEndpoint, actor: Actor
    ) -> Endpoint:
        def vend(tx: Transaction) -> Endpoint:
            self._queues_may_be_new(tx, workspace_id, new.queues)
            return endpoints.vend_endpoint(tx, workspace_id, new, actor)

        return await self._write(vend)

    async def endpoints(self, workspace_id: WorkspaceId) -> Sequence[Endpoint]:
        return await self._readers.read(
            lambda tx: [endpoint_of(row) for row in tx.all("endpoints", workspace_id=workspace_id)]
        )

    async def endpoint(self, workspace_id: WorkspaceId, slug: str) -> Endpoint | None:
        return await self._readers.read(
            lambda tx: endpoints.endpoint_by_slug(tx, workspace_id, slug)
        )

    async def set_endpoint_if_active(
        self,
        workspace_id: WorkspaceId,
        slug: str,
        actor: Actor,
        *,
        protocol: Protocol | None = None,
        lease_ms: int | None = None,
    ) -> Endpoint | Refusal:
        def change(tx: Transaction) -> Endpoint | Refusal:
            tx.after_commit.append(self._callers.clear)
            return endpoints.set_endpoint_if_active(tx, workspace_id, slug, protocol, lease_ms)

        return await self._write(change)

    async def revoke_endpoint_if_active(
        self, workspace_id: WorkspaceId, slug: str, actor: Actor
    ) -> Ended | Refusal:
        def revoke(tx: Transaction) -> Ended | Refusal:
            tx.after_commit.append(self._forget_endpoints)
            return endpoints.revoke_endpoint_if_active(tx, workspace_id, slug, actor)

        return await self._write(revoke)

    async def replace_endpoint_if_active(
        self, workspace_id: WorkspaceId, slug: str, new: NewEndpoint, actor: Actor
    ) -> Replaced | Refusal:
        def replace(tx: Transaction) -> Replaced | Refusal:
            self._queues_may_be_new(tx, workspace_id, new.queues)
            tx.after_commit.append(self._forget_endpoints)
            return endpoints.replace_endpoint_if_active(tx, workspace_id, slug, new, actor)

        return await self._write(replace)

    async def rotate_credential_if_active(
        self, workspace_id: WorkspaceId, slug: str, new: NewCredential, overlap_ms: int
    ) -> Rotated | Refusal:
        def rotate(tx: Transaction) -> Rotated | Refusal:
            tx.after_commit.append(self._callers.clear)
            return endpoints.rotate_credential_if_active(tx, workspace_id, slug, new, overlap_ms)

        return await self._write(rotate)

    async def expire_endpoints(self, limit: int) -> Sequence[Ended]:
        def expire(tx: Transaction) -> list[Ended]:
            ended = endpoints.expire_endpoints(tx, limit)
            if ended:
                tx.after_commit.append(self._forget_endpoints)
            return ended

        return await self._write(expire)

    async def expire_credentials(self, limit: int) -> Sequence[EndedCredential]:
        def expire(tx: Transaction) -> list[EndedCredential]:
            ended = endpoints.expire_credentials(tx, limit)
            if ended:
                tx.after_commit.append(self._callers.clear)
            return ended

        return await self._write(expire)

    async def next_expiry_in_ms(self) -> int | None:
        return await self._readers.read(lambda tx: tx.all("next_expiry")[0]["in_ms"])

    async def caller_by_credential(self, credential_hash: bytes) -> Caller | None:
        kept = self._callers.get(credential_hash)
        if kept is None:
            generation = self._callers.generation
            row = await self._readers.read(
                lambda tx: tx.one("caller_by_credential", hash=credential_hash)
            )
            if row is None:
                return None
            kept = caller_of(row)
            self._callers.keep(credential_hash, kept, generation)
        over = kept.expires_at_ms is not None and kept.expires_at_ms <= self._clock.now_ms()
        return None if over else kept

    async def ended_credentials(self, credential_ids: Collection[str]) -> Collection[str]:
        wanted = json.dumps(list(credential_ids))
        rows = await self._readers.read(
            lambda tx: tx.all("ended_credentials", credential_ids=wanted)
        )
        return [row["id"] for row in rows]

    async def stamp_last_seen(self, seen: Sequence[tuple[EndpointId, int]]) -> None:
        def stamp(tx: Transaction) -> None:
            for endpoint_id, at_ms in seen:
                tx.run("stamp_last_seen", endpoint_id=endpoint_id, at_ms=at_ms)

        if seen:
            await self._write(stamp)

    async def open_session(self, session: Session, keep: int) -> Sequence[str]:
        def begin(tx: Transaction) -> list[str]:
            ended = endpoints.open_session(tx, session, keep)
            if ended:
                tx.after_commit.append(self._sessions.clear)
            return ended

        return await self._write(begin)

    async def session(self, endpoint_id: EndpointId, session_id: str) -> Session | None:
        key = (endpoint_id, session_id)
        kept = self._sessions.get(key)
        if kept is None:
            generation = self._sessions.generation
            row = await self._readers.read(
                lambda tx: tx.one("session", session_id=session_id, endpoint_id=endpoint_id)
            )
            if row is None:
                return None
            kept = session_of(row)
            self._sessions.keep(key, kept, generation)
        return kept

    async def close_session(self, endpoint_id: EndpointId, session_id: str) -> bool:
        def close(tx: Transaction) -> bool:
            tx.after_commit.append(self._sessions.clear)
            row = tx.one("delete_session", session_id=session_id, endpoint_id=endpoint_id)
            return row is not None

        return await self._write(close)

    async def touch_sessions(self, used: Sequence[tuple[str, int]]) -> None:
        def touch(tx: Transaction) -> None:
            for session_id, at_ms in used:
                tx.run("touch_session", session_id=session_id, at_ms=at_ms)

        if used:
            await self._write(touch)

    async def close_idle_sessions(self, idle_ms: int) -> Sequence[str]:
        def close(tx: Transaction) -> list[str]:
            closed = [row["id"] for row in tx.all("delete_idle_sessions", idle_ms=idle_ms)]
            if closed:
                tx.after_commit.append(self._sessions.clear)
            return closed

        return await self._write(close)

    def _forget_endpoints(self) -> None:
        self._callers.clear()
        self._sessions.clear()
