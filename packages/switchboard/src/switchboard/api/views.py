"""What the API shows: documents made of the domain's values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import BaseModel, Field

from switchboard.clock import rfc3339
from switchboard.domain.endpoint import Endpoint, Protocol, Verb
from switchboard.domain.queue import Queue, RingPolicy
from switchboard.domain.todo import Attempt, Event, Outcome, State, Step, Todo, Trust
from switchboard.records import TodoHistory, TodoRow

Slugs = Mapping[str, str]
"""Slugs by endpoint id: ids never leave the service."""


class TodoSummary(BaseModel):
    """What every view of a todo has."""

    id: str
    queue: str
    title: str
    state: State
    kind: str | None
    source: str | None
    priority: int
    attempt: int
    failures: int
    lapses: int
    max_attempts: int
    max_lapses: int
    assignee: str | None = Field(description="Slug of the only endpoint that may take it.")
    holder: str | None = Field(description="Who works on it now.")
    lease_expires_at: str | None
    available_at: str
    created_at: str
    updated_at: str
    ended_at: str | None
    failure_reason: str | None
    summary: str | None
    trust: Trust
    parent_id: str | None
    idempotency_key: str | None
    rings: int
    payload_bytes: int


class TodoRowView(TodoSummary):
    """A row of a list: without payload and result."""

    claimable: bool


class TodoView(TodoSummary):
    """A todo with what it carries."""

    payload: Any
    result: Any


class AttemptView(BaseModel):
    """One claim and how it ended; `outcome` null: it still runs."""

    number: int
    holder: str
    outcome: Outcome | None
    summary: str | None
    note: str | None
    started_at: str
    ended_at: str | None


class EventView(BaseModel):
    """One line of a todo's history."""

    at: str
    step: Step
    actor: str
    actor_kind: str
    from_: State | None = Field(serialization_alias="from")
    to: State
    attempt: int
    detail: str | None


class TodoHistoryView(TodoView):
    """A todo with everything known of it."""

    attempts: list[AttemptView]
    events: list[EventView]


class EndpointView(BaseModel):
    """An endpoint. Holds no secret."""

    slug: str
    agent: str
    state: str
    queues: list[str]
    verbs: list[Verb]
    protocol: Protocol
    lease_seconds: int
    credential_prefix: str
    previous_until: str | None = Field(
        description="Until when the credential before this one works too."
    )
    created_at: str
    expires_at: str | None
    ended_at: str | None
    last_seen_at: str | None


class QueueView(BaseModel):
    """A queue of the workspace."""

    name: str
    paused: bool
    ring: RingPolicy = Field(description="Whom a ready todo wakes: all that listen, or one.")
    created_at: str


def row_view(row: TodoRow, slugs: Slugs) -> TodoRowView:
    """A list row."""
    return TodoRowView(**_summary(row.todo, slugs), claimable=row.claimable)


def todo_view(todo: Todo, slugs: Slugs) -> TodoView:
    """A todo with payload and result."""
    return TodoView(**_summary(todo, slugs), **_carried(todo))


def history_view(history: TodoHistory, slugs: Slugs) -> TodoHistoryView:
    """A todo with its attempts, newest last, and its events."""
    return TodoHistoryView(
        **_summary(history.todo, slugs),
        **_carried(history.todo),
        attempts=[_attempt_view(attempt) for attempt in history.attempts],
        events=[_event_view(event) for event in history.events],
    )


def endpoint_view(endpoint: Endpoint, last_seen_ms: int | None) -> EndpointView:
    """An endpoint. `last_seen_ms`: what this process saw, which may not be written yet."""
    seen_ms = max(last_seen_ms or 0, endpoint.last_seen_at_ms or 0)
    return EndpointView(
        slug=endpoint.slug,
        agent=endpoint.agent,
        state=endpoint.state.value,
        queues=list(endpoint.queues),
        verbs=list(endpoint.verbs),
        protocol=endpoint.protocol,
        lease_seconds=endpoint.lease_ms // 1000,
        credential_prefix=endpoint.credential_prefix,
        previous_until=_time(endpoint.previous_until_ms),
        created_at=rfc3339(endpoint.created_at_ms),
        expires_at=_time(endpoint.expires_at_ms),
        ended_at=_time(endpoint.ended_at_ms),
        last_seen_at=_time(seen_ms or None),
    )


def queue_view(queue: Queue) -> QueueView:
    """A queue."""
    return QueueView(
        name=queue.name,
        paused=queue.paused,
        ring=queue.ring,
        created_at=rfc3339(queue.created_at_ms),
    )


def _summary(todo: Todo, slugs: Slugs) -> dict[str, Any]:
    holder = todo.holder_id if todo.state is State.CLAIMED else None
    return {
        "id": todo.id,
        "queue": todo.queue,
        "title": todo.title,
        "state": todo.state,
        "kind": todo.kind,
        "source": todo.source,
        "priority": todo.priority,
        "attempt": todo.attempt,
        "failures": todo.failures,
        "lapses": todo.lapses,
        "max_attempts": todo.max_attempts,
        "max_lapses": todo.max_lapses,
        "assignee": slugs.get(todo.assignee_id) if todo.assignee_id else None,
        "holder": slugs.get(holder) if holder else None,
        "lease_expires_at": _time(todo.lease_expires_at_ms),
        "available_at": rfc3339(todo.available_at_ms),
        "created_at": rfc3339(todo.created_at_ms),
        "updated_at": rfc3339(todo.updated_at_ms),
        "ended_at": _time(todo.ended_at_ms),
        "failure_reason": todo.failure_reason,
        "summary": todo.summary,
        "trust": todo.trust,
        "parent_id": todo.parent_id,
        "idempotency_key": todo.idempotency_key,
        "rings": todo.rings,
        "payload_bytes": todo.payload_bytes,
    }


def _carried(todo: Todo) -> dict[str, Any]:
    return {"payload": _json(todo.payload_json), "result": _json(todo.result_json)}


def _attempt_view(attempt: Attempt) -> AttemptView:
    return AttemptView(
        number=attempt.number,
        holder=attempt.holder_name,
        outcome=attempt.outcome,
        summary=attempt.summary,
        note=attempt.note,
        started_at=rfc3339(attempt.started_at_ms),
        ended_at=_time(attempt.ended_at_ms),
    )


def _event_view(event: Event) -> EventView:
    return EventView(
        at=rfc3339(event.at_ms),
        step=event.step,
        actor=event.actor_name,
        actor_kind=event.actor_kind,
        from_=event.from_state,
        to=event.to_state,
        attempt=event.attempt,
        detail=event.detail,
    )


def _json(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)


def _time(at_ms: int | None) -> str | None:
    return None if at_ms is None else rfc3339(at_ms)
