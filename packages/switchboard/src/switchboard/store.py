"""The ledger's contract. `stores/` implements it; only `app` chooses an implementation.

Rules that hold for every method:

- Each change is one guarded statement in one transaction with its event row, or nothing.
- Time is the store's: durations come in, `*_ms` times go out. `available_at_ms` alone may be given.
- A lookup carries the workspace (and an agent's scope); foreign and unknown ids answer alike.
- Methods may be called concurrently. A caller that is cancelled before its change was taken up
  has changed nothing; after that the change is committed.
- Raises `StoreUnavailable` when the ledger cannot answer within its bound, `StoreError` otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol as Contract

from switchboard.domain.actor import Actor
from switchboard.domain.endpoint import Caller, Endpoint, EndpointId, Protocol
from switchboard.domain.queue import Queue, RingPolicy
from switchboard.domain.refusal import Refusal
from switchboard.domain.todo import Todo, TodoId
from switchboard.domain.workspace import Operator, Person, PersonId, Workspace, WorkspaceId
from switchboard.records import (
    Changed,
    Claimed,
    Created,
    Ended,
    EndedCredential,
    Founding,
    NewCredential,
    NewEndpoint,
    NewTodo,
    NothingReady,
    Replaced,
    Rotated,
    Session,
    TodoFilter,
    TodoHistory,
    TodoRow,
)

ATTEMPTS_SHOWN = 20
"""How many attempts an agent is shown of a todo, the latest ones."""


class AgentTodos(Contract):
    """What an authenticated endpoint may do. Every change is guarded by "endpoint active"."""

    async def claim_next_ready(
        self,
        caller: Caller,
        queues: Sequence[str],
        lease_ms: int,
        token_hash: bytes,
        claim_key: str | None = None,
    ) -> Claimed | NothingReady | Refusal:
        """Lease the first ready todo of `queues`: priority, then ready time, then id.

        Ready: pending and due, or claimed with a lapsed lease (takeover); queue not paused;
        unassigned or assigned to the caller. A lapsed todo at its cap is failed on the way.

        With `claim_key`: what the caller still holds by a claim of the same key is granted again,
        with `token_hash` in place of the earlier one; a key of another question is refused.
        """
        ...

    async def claim_if_ready(
        self,
        caller: Caller,
        todo_id: TodoId,
        lease_ms: int,
        token_hash: bytes,
        claim_key: str | None = None,
    ) -> Claimed | Refusal:
        """Lease this todo. A live lease is never granted again, but to its holder by its key."""
        ...

    async def undo_claim(self, caller: Caller, todo_id: TodoId, token_hash: bytes) -> Todo | None:
        """Take back a claim whose answer never left: pending again, attempt uncounted."""
        ...

    async def heartbeat_if_held(
        self,
        caller: Caller,
        todo_id: TodoId,
        token_hash: bytes | None,
        lease_ms: int,
        note: str | None,
    ) -> Changed | Refusal:
        """Extend the lease to max(current, now + `lease_ms`); never shortens it."""
        ...

    async def complete_if_held(
        self,
        caller: Caller,
        todo_id: TodoId,
        token_hash: bytes | None,
        result_json: str | None,
        summary: str | None,
    ) -> Changed | Refusal:
        """Finish the todo. A repetition with the same content is `Changed(repeated=True)`."""
        ...

    async def fail_if_held(
        self,
        caller: Caller,
        todo_id: TodoId,
        token_hash: bytes | None,
        reason: str | None,
        summary: str | None,
        retry: bool,
    ) -> Changed | Refusal:
        """Give up this attempt: pending after a backoff, or failed at the cap or without retry."""
        ...

    async def release_if_held(
        self, caller: Caller, todo_id: TodoId, token_hash: bytes | None, delay_ms: int
    ) -> Changed | Refusal:
        """Give the todo back free of charge."""
        ...

    async def create_in_scope(self, caller: Caller, new: NewTodo) -> Created | Refusal:
        """Add a todo to one of the caller's queues.

        With `parent_id`: only while the caller holds a live lease of the parent, whose person
        it then inherits if the parent may ring (`domain.todo.inherited_person`).
        """
        ...

    async def list_in_scope(self, caller: Caller, wanted: TodoFilter) -> Sequence[TodoRow]:
        """Rows of the caller's queues; `limit + 1` rows mean that there are more."""
        ...

    async def todo_in_scope(self, caller: Caller, todo_id: TodoId) -> TodoHistory | None:
        """A todo of the caller's queues; None for foreign and unknown ids alike.

        Without its events and with its latest `ATTEMPTS_SHOWN` attempts: both grow without end
        (each heartbeat is an event, a release costs nothing), and an agent pays for each line.
        """
        ...


class PeopleTodos(Contract):
    """What people and the service itself do with todos."""

    async def create_todos(
        self, workspace_id: WorkspaceId, todos: Sequence[NewTodo], actor: Actor
    ) -> Sequence[Created]:
        """Add todos in one transaction; each key is decided by a unique index.

        One whose assignee has ended meanwhile is failed at once, as its end would have done.
        """
        ...

    async def todo(self, workspace_id: WorkspaceId, todo_id: TodoId) -> TodoHistory | None:
        """A todo with its attempts and events."""
        ...

    async def list_todos(self, workspace_id: WorkspaceId, wanted: TodoFilter) -> Sequence[TodoRow]:
        """Rows of a workspace; `limit + 1` rows mean that there are more."""
        ...

    async def retry_if_failed(
        self, workspace_id: WorkspaceId, todo_id: TodoId, actor: Actor
    ) -> Changed | Refusal:
        """A dead letter becomes pending; failures, lapses and rings start anew."""
        ...

    async def cancel_if_live(
        self, workspace_id: WorkspaceId, todo_id: TodoId, actor: Actor
    ) -> Changed | Refusal:
        """End a pending or claimed todo for good."""
        ...

    async def release_if_claimed(
        self, workspace_id: WorkspaceId, todo_id: TodoId, actor: Actor
    ) -> Changed | Refusal:
        """Take a claimed todo from its holder, free of charge."""
        ...

    async def sweep_lapsed(self, limit: int) -> Sequence[Todo]:
        """Return lapsed todos to pending, or bury them at the cap; each counted once."""
        ...

    async def became_ready(self, after_ms: int, limit: int) -> tuple[Sequence[Todo], int]:
        """Pending todos that time alone made ready in (`after_ms`, now], and that now.

        By due time, without payloads. A todo that was ready the moment it was written is not
        among them: whoever wrote it tells of it.
        """
        ...

    async def ready_in_queue(
        self, workspace_id: WorkspaceId, queue: str, limit: int
    ) -> Sequence[Todo]:
        """Up to `limit` pending todos of a queue that are due, best first, without payloads.

        Whoever they are assigned to, and of a paused queue too.
        """
        ...

    async def ready_for(self, caller: Caller, limit: int) -> tuple[Sequence[Todo], int]:
        """Up to `limit` todos the caller could claim now, best first, and how many there are."""
        ...

    async def count_ring(self, todo_id: TodoId) -> None:
        """One more ring of this todo was taken by a stream."""
        ...


class Endpoints(Contract):
    """Endpoints, their credentials, and MCP sessions."""

    async def vend_endpoint(
        self, workspace_id: WorkspaceId, new: NewEndpoint, actor: Actor
    ) -> Endpoint:
        """Write the endpoint, its credential's hash and its queues."""
        ...

    async def endpoints(self, workspace_id: WorkspaceId) -> Sequence[Endpoint]:
        """All endpoints of a workspace, newest first."""
        ...

    async def endpoint(self, workspace_id: WorkspaceId, slug: str) -> Endpoint | None:
        """One endpoint of a workspace."""
        ...

    async def set_endpoint_if_active(
        self,
        workspace_id: WorkspaceId,
        slug: str,
        actor: Actor,
        *,
        protocol: Protocol | None = None,
        lease_ms: int | None = None,
    ) -> Endpoint | Refusal:
        """Change what may change after a vend. Scope never does."""
        ...

    async def revoke_endpoint_if_active(
        self, workspace_id: WorkspaceId, slug: str, actor: Actor
    ) -> Ended | Refusal:
        """End an endpoint, its credentials, sessions, claims and assignments in one transaction."""
        ...

    async def replace_endpoint_if_active(
        self, workspace_id: WorkspaceId, slug: str, new: NewEndpoint, actor: Actor
    ) -> Replaced | Refusal:
        """Vend `new` and revoke the endpoint `slug`, in one transaction.

        Live todos assigned to the old one are assigned to the new one where it has their queue.
        """
        ...

    async def rotate_credential_if_active(
        self, workspace_id: WorkspaceId, slug: str, new: NewCredential, overlap_ms: int
    ) -> Rotated | Refusal:
        """Give an endpoint one more credential; the newest one so far lives on for `overlap_ms`.

        Every older one is over at once: two live at most. Sessions and claims stay.
        """
        ...

    async def expire_endpoints(self, limit: int) -> Sequence[Ended]:
        """End the endpoints whose time has come, in the way of a revocation."""
        ...

    async def expire_credentials(self, limit: int) -> Sequence[EndedCredential]:
        """End the credentials whose overlap is over; each is told of once."""
        ...

    async def next_expiry_in_ms(self) -> int | None:
        """How long until the next active endpoint or live credential expires; 0 or less: now.

        By the ledger's clock, which may not be this process's own.
        """
        ...

    async def caller_by_credential(self, credential_hash: bytes) -> Caller | None:
        """The active, unexpired endpoint behind a credential; None for every other case."""
        ...

    async def ended_credentials(self, credential_ids: Collection[str]) -> Collection[str]:
        """Which of these open nothing any more: ended or expired, they or their endpoint."""
        ...

    async def stamp_last_seen(self, seen: Sequence[tuple[EndpointId, int]]) -> None:
        """Write last-seen times in one batch; a time never moves backwards."""
        ...

    async def open_session(self, session: Session, keep: int) -> Sequence[str]:
        """Write a session; beyond `keep` open ones, end the longest idle. Returns ended ids."""
        ...

    async def session(self, endpoint_id: EndpointId, session_id: str) -> Session | None:
        """An open session of this endpoint; None for foreign, ended and unknown alike."""
        ...

    async def close_session(self, endpoint_id: EndpointId, session_id: str) -> bool:
        """End a session; False when there was none."""
        ...

    async def touch_sessions(self, used: Sequence[tuple[str, int]]) -> None:
        """Write last-used times in one batch."""
        ...

    async def close_idle_sessions(self, idle_ms: int) -> Sequence[str]:
        """End sessions unused for `idle_ms`; returns their ids."""
        ...


class People(Contract):
    """Workspaces, people, operator tokens, queues."""

    async def found_if_empty(self, founding: Founding) -> bool:
        """Write the first workspace, owner and token; False when there already is one."""
        ...

    async def workspace(self, workspace_id: WorkspaceId) -> Workspace | None:
        """One workspace."""
        ...

    async def person(self, person_id: PersonId) -> Person | None:
        """One person."""
        ...

    async def operator_by_token(self, token_hash: bytes) -> Operator | None:
        """The live operator token behind a hash."""
        ...

    async def replace_local_token(self, token_id: str, token_hash: bytes) -> None:
        """Give the founding owner's local token a new secret (its file was lost)."""
        ...

    async def queues(self, workspace_id: WorkspaceId) -> Sequence[Queue]:
        """All queues of a workspace by name. Asked for each ring: a store keeps them at hand."""
        ...

    async def set_queue_paused(
        self, workspace_id: WorkspaceId, name: str, paused: bool, actor: Actor
    ) -> Queue | None:
        """Pause or resume a queue; None when there is none of that name."""
        ...

    async def set_queue_ring(
        self, workspace_id: WorkspaceId, name: str, ring: RingPolicy, actor: Actor
    ) -> Queue | None:
        """Say whom a ready todo of a queue wakes; None when there is none of that name."""
        ...

    async def endpoints_with_live_lease(self, workspace_id: WorkspaceId) -> Collection[EndpointId]:
        """Who holds a lease that still runs."""
        ...


class Store(AgentTodos, PeopleTodos, Endpoints, People, Contract):
    """The whole ledger, with its lifecycle."""

    async def start(self) -> None:
        """Open, migrate under a lock, and be ready. Raises `SchemaMismatch`."""
        ...

    async def stop(self) -> None:
        """Take no new work, finish what was taken, close. Safe twice and before start."""
        ...

    async def ping(self) -> None:
        """A bounded read that fails when the ledger cannot answer (readiness)."""
        ...
