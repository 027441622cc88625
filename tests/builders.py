"""Short ways to what most tests start from: a founded ledger, endpoints and todos.

Every value is unique and valid; a test names only the fields that it is about.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from switchboard.clock import Clock
from switchboard.domain.actor import Actor, ActorKind
from switchboard.domain.credential import (
    display_prefix,
    hash_secret,
    mint_credential,
    mint_lease_token,
    mint_slug,
)
from switchboard.domain.endpoint import Caller, EndpointId, Protocol, Verb
from switchboard.domain.identifier import mint_identifier
from switchboard.domain.todo import DEFAULT_MAX_ATTEMPTS, DEFAULT_MAX_LAPSES, TodoId, Trust
from switchboard.domain.workspace import PersonId, WorkspaceId
from switchboard.records import Claimed, Founding, NewEndpoint, NewTodo
from switchboard.store import Store

LEASE_MS = 300_000
QUEUE = "reviews"


def new_id(prefix: str, clock: Clock) -> str:
    """A fresh identifier of the clock's time."""
    return mint_identifier(prefix, clock.now_ms(), secrets.token_bytes)


def new_founding(clock: Clock, name: str = "acme", token: str = "sbo_local") -> Founding:
    """A first start whose operator token is `token`."""
    return Founding(
        workspace_id=WorkspaceId(new_id("ws", clock)),
        workspace_name=name,
        person_id=PersonId(new_id("ps", clock)),
        person_name="Ada",
        token_id=new_id("ot", clock),
        token_name="local",
        token_hash=hash_secret(token),
    )


def new_todo(
    clock: Clock,
    title: str = "Review the change",
    *,
    queue: str = QUEUE,
    priority: int = 0,
    payload_json: str | None = None,
    available_at_ms: int | None = None,
    delay_ms: int = 0,
    assignee_id: EndpointId | None = None,
    key_space: str = "person",
    key: str | None = None,
    max_attempts: int = DEFAULT_MAX_ATTEMPTS,
    max_lapses: int = DEFAULT_MAX_LAPSES,
) -> NewTodo:
    """A todo that an operator adds."""
    return NewTodo(
        id=TodoId(new_id("td", clock)),
        queue=queue,
        title=title,
        trust=Trust.OPERATOR,
        person_id=None,
        payload_json=payload_json,
        payload_bytes=len(payload_json.encode()) if payload_json else 0,
        priority=priority,
        available_at_ms=available_at_ms,
        delay_ms=delay_ms,
        assignee_id=assignee_id,
        key_space=key_space,
        idempotency_key=key,
        max_attempts=max_attempts,
        max_lapses=max_lapses,
    )


def new_endpoint(
    clock: Clock,
    credential: str,
    *,
    agent: str = "reviewer",
    queues: tuple[str, ...] = (QUEUE,),
    lifetime_ms: int | None = None,
) -> NewEndpoint:
    """An endpoint with every verb, opened by `credential`."""
    return NewEndpoint(
        id=EndpointId(new_id("ep", clock)),
        slug=mint_slug(agent, secrets.token_bytes),
        agent=agent,
        queues=queues,
        verbs=tuple(Verb),
        protocol=Protocol.AUTO,
        lease_ms=LEASE_MS,
        lifetime_ms=lifetime_ms,
        credential_id=new_id("cr", clock),
        credential_hash=hash_secret(credential),
        credential_prefix=display_prefix(credential),
    )


def lease_hash() -> bytes:
    """The hash of a fresh lease token."""
    return hash_secret(mint_lease_token(secrets.token_bytes))


@dataclass(frozen=True, slots=True)
class Ledger:
    """A founded store with its workspace, its owner and its clock."""

    store: Store
    clock: Clock
    founding: Founding

    @property
    def workspace_id(self) -> WorkspaceId:
        """The founded workspace."""
        return self.founding.workspace_id

    @property
    def owner(self) -> Actor:
        """The founding person as the author of a change."""
        return Actor(ActorKind.PERSON, self.founding.person_id, self.founding.person_name)

    async def vend(
        self,
        agent: str = "reviewer",
        *,
        queues: tuple[str, ...] = (QUEUE,),
        lifetime_ms: int | None = None,
    ) -> Caller:
        """A new endpoint, authenticated by its credential."""
        credential = mint_credential(secrets.token_bytes)
        new = new_endpoint(
            self.clock, credential, agent=agent, queues=queues, lifetime_ms=lifetime_ms
        )
        await self.store.vend_endpoint(self.workspace_id, new, self.owner)
        caller = await self.store.caller_by_credential(new.credential_hash)
        assert caller is not None, "a fresh credential opens its endpoint"
        return caller

    async def add(self, *todos: NewTodo) -> tuple[TodoId, ...]:
        """Add todos (one plain todo when none is given); their ids in order."""
        wanted = todos or (new_todo(self.clock),)
        created = await self.store.create_todos(self.workspace_id, wanted, self.owner)
        return tuple(one.todo.id for one in created)

    async def add_one(self, todo: NewTodo | None = None) -> TodoId:
        """Add a single todo."""
        (todo_id,) = await self.add(*([todo] if todo else []))
        return todo_id

    async def claim(
        self, caller: Caller, todo_id: TodoId, lease_ms: int = LEASE_MS
    ) -> tuple[Claimed, bytes]:
        """A claim that must succeed, and the hash of its lease token."""
        token = lease_hash()
        claimed = await self.store.claim_if_ready(caller, todo_id, lease_ms, token)
        assert isinstance(claimed, Claimed), claimed
        return claimed, token


async def found(store: Store, clock: Clock) -> Ledger:
    """Write the first workspace into a started, empty store."""
    founding = new_founding(clock)
    assert await store.found_if_empty(founding)
    return Ledger(store, clock, founding)
