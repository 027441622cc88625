"""A todo, its states, and every step between them as data.

`TRANSITIONS` is the theory; the SQL guards of each store and the CHECK constraints of the schema
restate it, and a test walks every state × verb to show that the three agree. The picture in
ARCHITECTURE.md is generated from it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

from switchboard.domain.endpoint import EndpointId
from switchboard.domain.workspace import PersonId, WorkspaceId

TodoId = NewType("TodoId", str)
"""`td_` and 26 characters, time-sortable."""

MAX_TITLE_CHARS = 200
MAX_KEY_CHARS = 200
MAX_KIND_CHARS = 64
MAX_SOURCE_CHARS = 200
MAX_SUMMARY_BYTES = 2_048
MAX_JSON_BYTES = 262_144
"""Upper bound of a payload or a result; the default limit is lower and a setting."""
DEFAULT_JSON_BYTES = 65_536
MIN_PRIORITY = -100
MAX_PRIORITY = 100
DEFAULT_MAX_ATTEMPTS = 5
DEFAULT_MAX_LAPSES = 10
BACKOFF_FIRST_MS = 30_000
BACKOFF_CAP_MS = 900_000
BACKOFF_JITTER = 0.1


class State(StrEnum):
    """`failed` means given up; a todo that will be retried is `pending` and not yet due."""

    PENDING = "pending"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


LIVE = (State.PENDING, State.CLAIMED)


class Trust(StrEnum):
    """How far the origin of a todo was verified. It decides whether the todo may ring."""

    OPERATOR = "operator"
    SIGNED = "signed"
    TOKEN = "token"
    AGENT = "agent"


class Outcome(StrEnum):
    """How an attempt ended."""

    DONE = "done"
    FAILED = "failed"
    LAPSED = "lapsed"
    RELEASED = "released"
    CANCELLED = "cancelled"
    REVOKED = "revoked"


class Step(StrEnum):
    """The name of a state change, as it stands in the event row."""

    CREATE = "create"
    CLAIM = "claim"
    TAKEOVER = "takeover"
    UNDO_CLAIM = "undo_claim"
    REGRANT = "regrant"
    HEARTBEAT = "heartbeat"
    REVIVE = "revive"
    COMPLETE = "complete"
    FAIL = "fail"
    RELEASE = "release"
    LAPSE = "lapse"
    RETRY = "retry"
    EDIT = "edit"
    CANCEL = "cancel"
    REVOKE = "revoke"


class By(StrEnum):
    """Who may take a step."""

    HOLDER = "holder"
    IN_SCOPE = "endpoint in scope"
    PERSON = "person"
    ANYONE = "anyone allowed to add work"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Transition:
    """One legal step. `source` None: the todo does not exist yet. `guard` is read by people."""

    step: Step
    source: State | None
    target: State
    by: tuple[By, ...]
    guard: str


_P, _C, _D, _F, _X = State.PENDING, State.CLAIMED, State.DONE, State.FAILED, State.CANCELLED

TRANSITIONS: tuple[Transition, ...] = (
    Transition(Step.CREATE, None, _P, (By.ANYONE,), "no live todo has the same key"),
    Transition(
        Step.CLAIM, _P, _C, (By.IN_SCOPE, By.PERSON), "due, not paused, assigned to nobody else"
    ),
    Transition(
        Step.TAKEOVER, _C, _C, (By.IN_SCOPE, By.PERSON), "lease ran out, lapses + 1 below the cap"
    ),
    Transition(Step.REGRANT, _C, _C, (By.HOLDER,), "same claim key, lease still runs"),
    Transition(Step.UNDO_CLAIM, _C, _P, (By.SERVICE,), "the caller left before it was answered"),
    Transition(Step.HEARTBEAT, _C, _C, (By.HOLDER, By.PERSON), "lease token fits"),
    Transition(Step.REVIVE, _P, _C, (By.HOLDER,), "swept, lease token of the latest attempt"),
    Transition(Step.COMPLETE, _C, _D, (By.HOLDER, By.PERSON), "lease token fits"),
    Transition(Step.COMPLETE, _P, _D, (By.HOLDER,), "swept, lease token of the latest attempt"),
    Transition(
        Step.FAIL, _C, _P, (By.HOLDER, By.PERSON), "failures + 1 below the cap and retry wanted"
    ),
    Transition(Step.FAIL, _C, _F, (By.HOLDER, By.PERSON), "failures + 1 at the cap, or no retry"),
    Transition(Step.RELEASE, _C, _P, (By.HOLDER, By.PERSON), "lease token fits"),
    Transition(Step.LAPSE, _C, _P, (By.SERVICE,), "lease ran out, lapses + 1 below the cap"),
    Transition(Step.LAPSE, _C, _F, (By.SERVICE,), "lease ran out, lapses + 1 at the cap"),
    Transition(Step.REVOKE, _C, _P, (By.PERSON, By.SERVICE), "its endpoint ended"),
    Transition(Step.REVOKE, _P, _F, (By.PERSON, By.SERVICE), "its assignee ended"),
    Transition(Step.RETRY, _F, _P, (By.PERSON,), "no live todo has the same key"),
    Transition(Step.EDIT, _P, _P, (By.PERSON,), "still pending"),
    Transition(Step.CANCEL, _P, _X, (By.PERSON,), "still live"),
    Transition(Step.CANCEL, _C, _X, (By.PERSON,), "still live"),
)


@dataclass(frozen=True, slots=True)
class Todo:
    """One row of the ledger. JSON values stay text until an edge needs them parsed.

    `ready_at_ms`: when it may be claimed next: due time while pending, lease end while claimed.
    `holder_id`: the endpoint (or person) of the running attempt, or of the swept one that may
    still finish it; None otherwise.
    """

    id: TodoId
    workspace_id: WorkspaceId
    queue: str
    title: str
    kind: str | None
    source: str | None
    payload_json: str | None
    payload_bytes: int
    priority: int
    state: State
    attempt: int
    failures: int
    lapses: int
    max_attempts: int
    max_lapses: int
    available_at_ms: int
    ready_at_ms: int
    assignee_id: EndpointId | None
    holder_id: str | None
    lease_expires_at_ms: int | None
    result_json: str | None
    summary: str | None
    failure_reason: str | None
    trust: Trust
    person_id: PersonId | None
    """The person to whom the work is attributed; None: it never rings."""
    parent_id: TodoId | None
    idempotency_key: str | None
    rings: int
    created_at_ms: int
    updated_at_ms: int
    ended_at_ms: int | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One claim of a todo and how it ended. `outcome` None: still running."""

    number: int
    holder_id: str
    holder_name: str
    started_at_ms: int
    ended_at_ms: int | None
    outcome: Outcome | None
    summary: str | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a todo's history. `detail` is a short word such as `retry` or `lapsed`."""

    at_ms: int
    step: Step
    actor_kind: str
    actor_name: str
    from_state: State | None
    to_state: State
    attempt: int
    detail: str | None


def backoff_ms(failures: int, jitter: random.Random) -> int:
    """How long a failed todo waits: 30 s, doubled per failure, at most 15 min, ±10 %.

    `failures` counts the one just reported, so it is at least 1.
    """
    base = min(BACKOFF_FIRST_MS << min(failures - 1, 10), BACKOFF_CAP_MS)
    return round(base * (1 + jitter.uniform(-BACKOFF_JITTER, BACKOFF_JITTER)))


def may_ring(todo: Todo) -> bool:
    """Whether a todo may wake agents: verified, and attributed to a person (SPEC-0014 push)."""
    if todo.person_id is None:
        return False
    if todo.trust is Trust.AGENT:
        return todo.parent_id is not None
    return todo.trust in (Trust.OPERATOR, Trust.SIGNED)


def inherited_person(parent: Todo) -> PersonId | None:
    """To whom a child is attributed: it rings only below a parent that may ring itself."""
    return parent.person_id if may_ring(parent) else None
