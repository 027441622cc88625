"""Vended endpoints: what a credential stands for and what it may do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

from switchboard.domain.actor import Actor, ActorKind
from switchboard.domain.workspace import WorkspaceId

EndpointId = NewType("EndpointId", str)
"""`ep_` and 26 characters. Never leaves the service; people and agents see the slug."""

AGENT_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
"""1 to 40 lower-case letters, digits and dashes: it becomes the first part of the slug."""

MIN_LEASE_MS = 10_000
MAX_LEASE_MS = 86_400_000
DEFAULT_LEASE_MS = 300_000


class Verb(StrEnum):
    """The agent verbs, in the order in which they are advertised."""

    LIST_TODOS = "list_todos"
    CLAIM = "claim"
    COMPLETE = "complete"
    FAIL = "fail"
    HEARTBEAT = "heartbeat"
    RELEASE = "release"
    GET_TODO = "get_todo"
    CREATE_TODO = "create_todo"


CORE_VERBS = (Verb.LIST_TODOS, Verb.CLAIM, Verb.COMPLETE, Verb.FAIL, Verb.HEARTBEAT)
"""What a vend grants unless verbs are named."""


class Protocol(StrEnum):
    """Which MCP eras an endpoint speaks: both, or the session eras alone."""

    AUTO = "auto"
    LEGACY = "legacy"


class EndpointState(StrEnum):
    """`expired` is stored when the expirer has acted; a passed `expires_at` already refuses."""

    ACTIVE = "active"
    REVOKED = "revoked"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint as people see it. Holds no secret: `credential_prefix` is for display."""

    id: EndpointId
    workspace_id: WorkspaceId
    slug: str
    agent: str
    queues: tuple[str, ...]
    verbs: tuple[Verb, ...]
    protocol: Protocol
    lease_ms: int
    state: EndpointState
    credential_prefix: str
    previous_until_ms: int | None
    """Until when the credential before the current one works too; None: it is over."""
    created_at_ms: int
    expires_at_ms: int | None
    ended_at_ms: int | None
    last_seen_at_ms: int | None


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated endpoint: the only identity an agent has, read from its credential."""

    endpoint_id: EndpointId
    workspace_id: WorkspaceId
    credential_id: str
    slug: str
    agent: str
    queues: tuple[str, ...]
    verbs: tuple[Verb, ...]
    protocol: Protocol
    lease_ms: int
    expires_at_ms: int | None
    """The earlier of the endpoint's and this credential's end, in ms since 1970; None: no end."""

    @property
    def actor(self) -> Actor:
        """This endpoint as the author of a change."""
        return Actor(ActorKind.AGENT, self.endpoint_id, self.slug)

    def covers(self, queue: str) -> bool:
        """Whether `queue` is in scope."""
        return queue in self.queues
