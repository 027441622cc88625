"""A todo as somebody asks for it, and the rules that make it one for the ledger."""

from __future__ import annotations

from dataclasses import dataclass

from switchboard.domain.actor import Actor
from switchboard.domain.endpoint import EndpointId
from switchboard.domain.queue import is_queue_name
from switchboard.domain.refusal import Refusal
from switchboard.domain.todo import (
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_MAX_LAPSES,
    MAX_KEY_CHARS,
    MAX_KIND_CHARS,
    MAX_PRIORITY,
    MAX_SOURCE_CHARS,
    MAX_TITLE_CHARS,
    MIN_PRIORITY,
    TodoId,
    Trust,
)
from switchboard.domain.workspace import PersonId
from switchboard.records import NewTodo
from switchboard.service.validation import invalid, is_one_line, json_text


@dataclass(frozen=True, slots=True)
class TodoDraft:
    """A todo as it is asked for; nothing in it has been checked."""

    queue: str
    title: str
    payload: object = None
    kind: str | None = None
    source: str | None = None
    priority: int = 0
    available_at_ms: int | None = None
    delay_ms: int = 0
    idempotency_key: str | None = None
    assignee_id: EndpointId | None = None
    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    max_lapses: int = DEFAULT_MAX_LAPSES


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a todo comes from: it decides whether the todo may ring."""

    actor: Actor
    trust: Trust
    person_id: PersonId | None
    key_space: str = "person"
    parent_id: TodoId | None = None


def new_todo(
    draft: TodoDraft, origin: Origin, todo_id: TodoId, max_json_bytes: int
) -> NewTodo | Refusal:
    """The todo of a draft, or the refusal that names the first field at fault."""
    fault = _field_at_fault(draft)
    if fault is not None:
        return invalid(fault)
    payload = None
    if draft.payload is not None:
        payload = json_text(draft.payload, max_json_bytes)
        if payload is None:
            return invalid("payload")
    return NewTodo(
        id=todo_id,
        queue=draft.queue,
        title=draft.title,
        trust=origin.trust,
        person_id=origin.person_id,
        kind=draft.kind,
        source=draft.source,
        payload_json=payload,
        payload_bytes=len(payload.encode()) if payload else 0,
        priority=draft.priority,
        available_at_ms=draft.available_at_ms,
        delay_ms=draft.delay_ms,
        assignee_id=draft.assignee_id,
        parent_id=origin.parent_id,
        key_space=origin.key_space,
        idempotency_key=draft.idempotency_key,
        max_attempts=draft.max_attempts,
        max_lapses=draft.max_lapses,
    )


def _field_at_fault(draft: TodoDraft) -> str | None:
    checks = (
        ("queue", is_queue_name(draft.queue)),
        ("title", is_one_line(draft.title, MAX_TITLE_CHARS)),
        ("kind", draft.kind is None or is_one_line(draft.kind, MAX_KIND_CHARS)),
        ("source", draft.source is None or is_one_line(draft.source, MAX_SOURCE_CHARS)),
        (
            "idempotency_key",
            draft.idempotency_key is None or is_one_line(draft.idempotency_key, MAX_KEY_CHARS),
        ),
        ("priority", MIN_PRIORITY <= draft.priority <= MAX_PRIORITY),
        ("delay_ms", 0 <= draft.delay_ms <= 366 * 86_400_000),
        ("available_at", draft.available_at_ms is None or 0 <= draft.available_at_ms < 1 << 47),
        ("max_attempts", 1 <= draft.max_attempts <= 100),
        ("max_lapses", 1 <= draft.max_lapses <= 100),
    )
    return next((field for field, holds in checks if not holds), None)
