"""What goes into the ledger and what comes out of it, beside the domain's own values."""

from __future__ import annotations

from dataclasses import dataclass, field

from switchboard.domain.endpoint import Endpoint, EndpointId, Protocol, Verb
from switchboard.domain.todo import Attempt, Event, State, Todo, TodoId, Trust
from switchboard.domain.workspace import PersonId, Role, WorkspaceId


@dataclass(frozen=True, slots=True)
class NewTodo:
    """A todo to be added. All fields are already valid; ids are minted by the caller."""

    id: TodoId
    queue: str
    title: str
    trust: Trust
    person_id: PersonId | None
    kind: str | None = None
    source: str | None = None
    payload_json: str | None = None
    payload_bytes: int = 0
    priority: int = 0
    available_at_ms: int | None = None
    """None: at once."""
    delay_ms: int = 0
    assignee_id: EndpointId | None = None
    parent_id: TodoId | None = None
    key_space: str = "person"
    idempotency_key: str | None = None
    max_attempts: int = 5
    max_lapses: int = 10


@dataclass(frozen=True, slots=True)
class Created:
    """`created` False: a live todo with the same key exists; it is returned untouched."""

    todo: Todo
    created: bool


@dataclass(frozen=True, slots=True)
class Claimed:
    """A lease that now runs. `prior` holds at most 5 earlier attempts, newest first.

    `buried`: lapsed todos that reached their cap on the way and are now failed.
    `regranted`: the lease ran already; its holder asked again by its key.
    """

    todo: Todo
    prior: tuple[Attempt, ...]
    buried: tuple[Todo, ...] = ()
    regranted: bool = False


@dataclass(frozen=True, slots=True)
class NothingReady:
    """No todo in scope is ready. `next_ready_at_ms`: the earliest known future one, if any."""

    next_ready_at_ms: int | None
    now_ms: int
    buried: tuple[Todo, ...] = ()


@dataclass(frozen=True, slots=True)
class Changed:
    """A step was taken; `repeated` True: it had been taken before with the same content."""

    todo: Todo
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class TodoFilter:
    """Which rows a list shows. Rows come newest first; `before_id` continues a list."""

    queues: tuple[str, ...] | None = None
    """None: every queue of the workspace (people only)."""
    states: tuple[State, ...] = (State.PENDING, State.CLAIMED)
    limit: int = 50
    before_id: TodoId | None = None


@dataclass(frozen=True, slots=True)
class TodoRow:
    """A list row: the todo without payload and result texts, and whether a claim would succeed."""

    todo: Todo
    claimable: bool


@dataclass(frozen=True, slots=True)
class TodoHistory:
    """A todo with everything known of it."""

    todo: Todo
    attempts: tuple[Attempt, ...]
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class NewEndpoint:
    """An endpoint to be vended, with the hash of its first credential."""

    id: EndpointId
    slug: str
    agent: str
    queues: tuple[str, ...]
    verbs: tuple[Verb, ...]
    protocol: Protocol
    lease_ms: int
    lifetime_ms: int | None
    credential_id: str
    credential_hash: bytes
    credential_prefix: str


@dataclass(frozen=True, slots=True)
class Ended:
    """What a revocation or an expiry did, for the doorbell and for whoever asked."""

    endpoint: Endpoint
    released: tuple[Todo, ...]
    failed: tuple[Todo, ...]
    sessions_closed: int


@dataclass(frozen=True, slots=True)
class Replaced:
    """A new endpoint stands where another was. `moved`: todos that are assigned to it now."""

    endpoint: Endpoint
    ended: Ended
    moved: tuple[Todo, ...]


@dataclass(frozen=True, slots=True)
class NewCredential:
    """The hash of a minted credential, and the part of it that may be shown again."""

    id: str
    hash: bytes
    prefix: str


@dataclass(frozen=True, slots=True)
class EndedCredential:
    """A credential that opens nothing any more. Its endpoint goes on."""

    id: str
    endpoint_id: EndpointId
    workspace_id: WorkspaceId


@dataclass(frozen=True, slots=True)
class Rotated:
    """An endpoint has a new credential. `ended`: the ones that are over already."""

    endpoint: Endpoint
    ended: tuple[EndedCredential, ...]


@dataclass(frozen=True, slots=True)
class Session:
    """A stored MCP session. JSON fields are what the client sent at initialize."""

    id: str
    endpoint_id: EndpointId
    protocol_version: str
    client_info_json: str
    client_capabilities_json: str
    created_at_ms: int
    last_used_at_ms: int


@dataclass(frozen=True, slots=True)
class Founding:
    """What the first start writes: a workspace, its owner and the local operator token's hash."""

    workspace_id: WorkspaceId
    workspace_name: str
    person_id: PersonId
    person_name: str
    token_id: str
    token_name: str
    token_hash: bytes
    role: Role = field(default=Role.OWNER)
