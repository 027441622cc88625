"""A ready todo as a value, for rules that need no ledger."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from switchboard.domain.todo import State, Todo, TodoId, Trust
from switchboard.domain.workspace import PersonId, WorkspaceId

_READY = Todo(
    id=TodoId("td_1"),
    workspace_id=WorkspaceId("ws_1"),
    queue="reviews",
    title="Review the change",
    kind=None,
    source=None,
    payload_json=None,
    payload_bytes=0,
    priority=0,
    state=State.PENDING,
    attempt=0,
    failures=0,
    lapses=0,
    max_attempts=5,
    max_lapses=10,
    available_at_ms=0,
    ready_at_ms=0,
    assignee_id=None,
    holder_id=None,
    lease_expires_at_ms=None,
    result_json=None,
    summary=None,
    failure_reason=None,
    trust=Trust.OPERATOR,
    person_id=PersonId("ps_1"),
    parent_id=None,
    idempotency_key=None,
    rings=0,
    created_at_ms=0,
    updated_at_ms=0,
    ended_at_ms=None,
)


def ready_todo(**fields: Any) -> Todo:
    """An operator's todo that waits, with `fields` of its own."""
    return replace(_READY, **fields)
