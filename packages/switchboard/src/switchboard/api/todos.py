"""`/todos`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Response

from switchboard.api.answers import (
    CreatedTodo,
    CreatedTodos,
    OneTodo,
    OneTodoHistory,
    TodoPage,
)
from switchboard.api.bodies import NewTodoBody, NewTodosBody, OneOrMany
from switchboard.api.problem import Refused, of_code, of_field
from switchboard.api.reach import Reach, Reached, found, taken
from switchboard.api.strict_json import StrictRoute
from switchboard.api.views import history_view, row_view, todo_view
from switchboard.domain.endpoint import Endpoint, EndpointId, EndpointState
from switchboard.domain.identifier import TODO_ID
from switchboard.domain.queue import is_queue_name
from switchboard.domain.refusal import Code
from switchboard.domain.todo import LIVE, State, TodoId
from switchboard.records import Changed, TodoFilter
from switchboard.service.draft import TodoDraft

router = APIRouter(prefix="/todos", tags=["todos"], route_class=StrictRoute)


@router.post("")
async def add(body: OneOrMany, reach: Reached, response: Response) -> CreatedTodo | CreatedTodos:
    """Add one todo, or many with `{"todos": […]}`. 201 when anything was added."""
    asked = body.todos if isinstance(body, NewTodosBody) else [body]
    drafts = await _drafts(reach, asked, is_many=isinstance(body, NewTodosBody))
    created = taken(
        await reach.services.todos.create_many(reach.workspace_id, drafts, reach.origin)
    )
    slugs = await reach.slugs_in([one.todo for one in created])
    shown = [CreatedTodo(todo=todo_view(one.todo, slugs), created=one.created) for one in created]
    if any(one.created for one in created):
        response.status_code = 201
    return CreatedTodos(todos=shown) if isinstance(body, NewTodosBody) else shown[0]


@router.get("")
async def list_todos(
    reach: Reached,
    queue: Annotated[list[str] | None, Query(max_length=100)] = None,
    state: Annotated[list[State] | None, Query(max_length=len(State))] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> TodoPage:
    """List todos, newest first; without `state` the live ones."""
    if not all(map(is_queue_name, queue or ())):
        raise Refused(of_field("queue"))
    if cursor is not None and TODO_ID.fullmatch(cursor) is None:
        raise Refused(of_field("cursor"))
    wanted = TodoFilter(
        queues=tuple(queue) if queue else None,
        states=tuple(state) if state else LIVE,
        limit=limit,
        before_id=TodoId(cursor) if cursor else None,
    )
    rows, has_more = await reach.services.todos.list_rows(reach.workspace_id, wanted)
    slugs = await reach.slugs_in(row.todo for row in rows)
    return TodoPage(
        todos=[row_view(row, slugs) for row in rows],
        next_cursor=rows[-1].todo.id if has_more else None,
    )


@router.get("/{todo_id}")
async def show(todo_id: str, reach: Reached) -> OneTodoHistory:
    """Show one todo with its attempts and events."""
    history = found(await reach.services.todos.show(reach.workspace_id, _id(todo_id)))
    return OneTodoHistory(todo=history_view(history, await reach.slugs_in((history.todo,))))


@router.post("/{todo_id}/retry")
async def retry(todo_id: str, reach: Reached) -> OneTodo:
    """Make a failed todo pending again; its failures and lapses start anew."""
    step = reach.services.todos.retry
    return await _shown(reach, taken(await step(reach.workspace_id, _id(todo_id), reach.actor)))


@router.post("/{todo_id}/cancel")
async def cancel(todo_id: str, reach: Reached) -> OneTodo:
    """End a pending or claimed todo for good."""
    step = reach.services.todos.cancel
    return await _shown(reach, taken(await step(reach.workspace_id, _id(todo_id), reach.actor)))


@router.post("/{todo_id}/release")
async def release(todo_id: str, reach: Reached) -> OneTodo:
    """Take a claimed todo from its holder, free of charge."""
    step = reach.services.todos.release
    return await _shown(reach, taken(await step(reach.workspace_id, _id(todo_id), reach.actor)))


async def _shown(reach: Reach, changed: Changed) -> OneTodo:
    return OneTodo(todo=todo_view(changed.todo, await reach.slugs_in((changed.todo,))))


def _id(text: str) -> TodoId:
    if TODO_ID.fullmatch(text) is None:
        raise Refused(of_code(Code.NOT_FOUND))
    return TodoId(text)


async def _drafts(reach: Reach, asked: Sequence[NewTodoBody], *, is_many: bool) -> list[TodoDraft]:
    assignees = await _assignees(reach) if any(one.assignee for one in asked) else {}
    drafts: list[TodoDraft] = []
    for index, body in enumerate(asked):
        within = f"todos.{index}." if is_many else ""
        try:
            drafts.append(body.draft(_assignee(body, assignees, within)))
        except (ValueError, OverflowError):
            raise Refused(of_field(within + "available_at")) from None
    return drafts


async def _assignees(reach: Reach) -> dict[str, Endpoint]:
    endpoints = await reach.services.desk.list_all(reach.workspace_id)
    return {one.slug: one for one in endpoints if one.state is EndpointState.ACTIVE}


def _assignee(
    body: NewTodoBody, assignees: Mapping[str, Endpoint], within: str
) -> EndpointId | None:
    """Scope never grows, so what is assigned beyond it would wait for ever."""
    if body.assignee is None:
        return None
    endpoint = assignees.get(body.assignee)
    if endpoint is None or body.queue not in endpoint.queues:
        raise Refused(of_field(within + "assignee"))
    return endpoint.id
