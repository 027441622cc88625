"""What people do with todos: add, look, list, retry, cancel, take from a holder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from switchboard.domain.actor import Actor
from switchboard.domain.endpoint import Caller
from switchboard.domain.refusal import Code, Refusal
from switchboard.domain.todo import (
    LIVE,
    Outcome,
    State,
    Step,
    Todo,
    TodoId,
    inherited_person,
)
from switchboard.domain.workspace import WorkspaceId
from switchboard.records import Changed, Created, NewTodo, TodoFilter, TodoHistory, TodoRow
from switchboard.store import ATTEMPTS_SHOWN
from switchboard.stores.refusals import claimable, held_parent, refused_to_person
from switchboard.stores.rows import (
    AFTER_EVERY_ID,
    attempt_of,
    event_of,
    todo_of,
    todos_of,
    values_of_new,
)
from switchboard.stores.sqlite.claims import endpoint_is_active
from switchboard.stores.sqlite.connection import Transaction
from switchboard.stores.sqlite.history import end_attempt, write_event


def create_todos(
    tx: Transaction, workspace_id: WorkspaceId, todos: Sequence[NewTodo], actor: Actor
) -> list[Created]:
    """See `PeopleTodos.create_todos`."""
    for queue in {todo.queue for todo in todos}:
        tx.run("insert_queue", workspace_id=workspace_id, name=queue)
    return [_create(tx, workspace_id, new, actor) for new in todos]


def _create(tx: Transaction, workspace_id: WorkspaceId, new: NewTodo, actor: Actor) -> Created:
    row = tx.one("insert_todo_unless_key_lives", workspace_id=workspace_id, **values_of_new(new))
    if row is not None:
        todo = todo_of(row)
        write_event(tx, todo, Step.CREATE, actor, None)
        return Created(_given_up_if_assignee_ended(tx, todo, actor), created=True)
    row = tx.one(
        "todo_by_live_key",
        workspace_id=workspace_id,
        queue=new.queue,
        key_space=new.key_space,
        idempotency_key=new.idempotency_key,
    )
    assert row is not None, "an insert without effect has met a live key"
    return Created(todo_of(row), created=False)


def _given_up_if_assignee_ended(tx: Transaction, todo: Todo, actor: Actor) -> Todo:
    """The end of its endpoint came between the look at it and this: as if it came just after."""
    if todo.assignee_id is None:
        return todo
    row = tx.one("fail_if_assignee_ended", todo_id=todo.id)
    if row is None:
        return todo
    failed = todo_of(row)
    write_event(tx, failed, Step.REVOKE, actor, State.PENDING, "endpoint_revoked")
    return failed


def create_in_scope(tx: Transaction, caller: Caller, new: NewTodo) -> Created | Refusal:
    """See `AgentTodos.create_in_scope`."""
    if not caller.covers(new.queue) or not endpoint_is_active(tx, caller):
        return Refusal(Code.FORBIDDEN)
    if new.parent_id is not None:
        parent = _held_parent(tx, caller, new.parent_id)
        if isinstance(parent, Refusal):
            return parent
        new = replace(new, person_id=inherited_person(parent))
    return create_todos(tx, caller.workspace_id, (new,), caller.actor)[0]


def _held_parent(tx: Transaction, caller: Caller, parent_id: TodoId) -> Todo | Refusal:
    row = tx.one("todo_in_workspace", todo_id=parent_id, workspace_id=caller.workspace_id)
    return held_parent(row, caller, tx.now_ms)


def history_of(tx: Transaction, workspace_id: WorkspaceId, todo_id: TodoId) -> TodoHistory | None:
    """See `PeopleTodos.todo`."""
    row = tx.one("todo_in_workspace", todo_id=todo_id, workspace_id=workspace_id)
    if row is None:
        return None
    return TodoHistory(
        todo_of(row),
        tuple(attempt_of(attempt) for attempt in tx.all("attempts", todo_id=todo_id)),
        tuple(event_of(event) for event in tx.all("events", todo_id=todo_id)),
    )


def shown_in_scope(tx: Transaction, caller: Caller, todo_id: TodoId) -> TodoHistory | None:
    """See `AgentTodos.todo_in_scope`."""
    row = tx.one("todo_in_workspace", todo_id=todo_id, workspace_id=caller.workspace_id)
    if row is None or not caller.covers(row["queue"]):
        return None
    attempts = tx.all("latest_attempts", todo_id=todo_id, limit=ATTEMPTS_SHOWN)
    return TodoHistory(todo_of(row), tuple(attempt_of(one) for one in reversed(attempts)), ())


def list_rows(
    tx: Transaction, workspace_id: WorkspaceId, wanted: TodoFilter, caller: Caller | None
) -> list[TodoRow]:
    """Newest first, merged from a few index ranges of each queue."""
    queues = tx.all("queues", workspace_id=workspace_id)
    paused = {row["name"] for row in queues if row["paused"]}
    names = wanted.queues if wanted.queues is not None else [row["name"] for row in queues]
    if caller is not None:
        names = [name for name in names if caller.covers(name)]
    rows = [
        row
        for name in dict.fromkeys(names)
        for statement, states in _ranges(wanted.states)
        for row in tx.all(
            statement,
            workspace_id=workspace_id,
            queue=name,
            before_id=wanted.before_id or AFTER_EVERY_ID,
            limit=wanted.limit + 1,
            **states,
        )
    ]
    rows.sort(key=lambda row: row["id"], reverse=True)
    todos = todos_of(rows[: wanted.limit + 1])
    return [
        TodoRow(todo, claimable(todo, caller, tx.now_ms, todo.queue in paused)) for todo in todos
    ]


def _ranges(states: Sequence[State]) -> list[tuple[str, dict[str, State]]]:
    """The statements that list these states: one for the live ones, one for each final one."""
    live = [state for state in LIVE if state in states]
    ended = [state for state in State if state in states and state not in LIVE]
    ranges = [("list_live", {"state": live[0], "other_state": live[-1]})] if live else []
    return ranges + [("list_ended", {"state": state}) for state in ended]


def retry_if_failed(
    tx: Transaction, workspace_id: WorkspaceId, todo_id: TodoId, actor: Actor
) -> Changed | Refusal:
    """See `PeopleTodos.retry_if_failed`."""
    row = tx.one("retry_if_failed", todo_id=todo_id, workspace_id=workspace_id)
    if row is None:
        return _person_refused(tx, workspace_id, todo_id)
    todo = todo_of(row)
    write_event(tx, todo, Step.RETRY, actor, State.FAILED)
    return Changed(todo)


def cancel_if_live(
    tx: Transaction, workspace_id: WorkspaceId, todo_id: TodoId, actor: Actor
) -> Changed | Refusal:
    """See `PeopleTodos.cancel_if_live`."""
    before = tx.one("todo_in_workspace", todo_id=todo_id, workspace_id=workspace_id)
    row = tx.one("cancel_if_live", todo_id=todo_id, workspace_id=workspace_id)
    if row is None or before is None:
        return _person_refused(tx, workspace_id, todo_id)
    todo = todo_of(row)
    was = State(before["state"])
    if was is State.CLAIMED:
        end_attempt(tx, todo, Outcome.CANCELLED)
    write_event(tx, todo, Step.CANCEL, actor, was)
    return Changed(todo)


def release_if_claimed(
    tx: Transaction, workspace_id: WorkspaceId, todo_id: TodoId, actor: Actor
) -> Changed | Refusal:
    """See `PeopleTodos.release_if_claimed`."""
    row = tx.one("release_if_claimed", todo_id=todo_id, workspace_id=workspace_id)
    if row is None:
        return _person_refused(tx, workspace_id, todo_id)
    todo = todo_of(row)
    end_attempt(tx, todo, Outcome.RELEASED)
    write_event(tx, todo, Step.RELEASE, actor, State.CLAIMED)
    return Changed(todo)


def _person_refused(tx: Transaction, workspace_id: WorkspaceId, todo_id: TodoId) -> Refusal:
    row = tx.one("todo_in_workspace", todo_id=todo_id, workspace_id=workspace_id)
    return refused_to_person(row)
