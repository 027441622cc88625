"""A row becomes the value that the domain would have made of it."""

from __future__ import annotations

import sqlite3
from dataclasses import FrozenInstanceError, asdict, replace

import pytest

from switchboard.domain.endpoint import EndpointId
from switchboard.domain.todo import State, Todo, TodoId, Trust
from switchboard.domain.workspace import PersonId, WorkspaceId
from switchboard.stores.rows import todo_of, todos_of

TODO = Todo(
    id=TodoId("td_1"),
    workspace_id=WorkspaceId("ws_1"),
    queue="inbox",
    title="Read it",
    kind=None,
    source="mail",
    payload_json='{"n":1}',
    payload_bytes=7,
    priority=3,
    state=State.CLAIMED,
    attempt=2,
    failures=1,
    lapses=0,
    max_attempts=5,
    max_lapses=10,
    available_at_ms=10,
    ready_at_ms=20,
    assignee_id=EndpointId("ep_1"),
    holder_id="ep_1",
    lease_expires_at_ms=20,
    result_json=None,
    summary=None,
    failure_reason=None,
    trust=Trust.SIGNED,
    person_id=PersonId("ps_1"),
    parent_id=None,
    idempotency_key="k",
    rings=4,
    created_at_ms=1,
    updated_at_ms=2,
    ended_at_ms=None,
)


def row_of(todo: Todo) -> sqlite3.Row:
    """The fields backwards, with a stranger in front."""
    values = dict(reversed(asdict(todo).items()))
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    names = ", ".join(f":{name} AS {name}" for name in values)
    row: sqlite3.Row = connection.execute(f"SELECT 'x' AS other, {names}", values).fetchone()
    connection.close()
    return row


def test_a_todo_from_a_row_equals_one_that_was_made_and_is_as_frozen() -> None:
    read = todo_of(row_of(TODO))
    assert (type(read), read, hash(read), repr(read)) == (Todo, TODO, hash(TODO), repr(TODO))
    assert type(read.state) is State
    assert type(read.trust) is Trust
    assert replace(read, queue="other") == replace(TODO, queue="other")
    with pytest.raises(FrozenInstanceError):
        read.queue = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_rows_keep_their_order_and_none_gives_none() -> None:
    other = replace(TODO, id=TodoId("td_2"), state=State.PENDING)
    assert todos_of([row_of(other), row_of(TODO)]) == [other, TODO]
    assert todos_of([]) == []
