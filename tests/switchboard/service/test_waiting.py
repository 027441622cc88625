"""Waiting claims are served in order, and a wake that nobody used is passed on."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

from switchboard.domain.endpoint import CORE_VERBS, Caller, EndpointId, Protocol
from switchboard.domain.todo import Todo
from switchboard.domain.workspace import WorkspaceId
from switchboard.service.waiting import Waiter, WaitingRoom


@dataclasses.dataclass
class Ready:
    """The fields of a todo that decide who may be woken."""

    workspace_id: str = "ws_1"
    queue: str = "builds"
    assignee_id: str | None = None


def ready(**fields: Any) -> Todo:
    return cast(Todo, Ready(**fields))


def waiter(name: str, *queues: str) -> Waiter:
    caller = Caller(
        EndpointId(name),
        WorkspaceId("ws_1"),
        "cr",
        name,
        name,
        queues,
        CORE_VERBS,
        Protocol.AUTO,
        300_000,
        None,
    )
    return Waiter(caller, frozenset(queues))


def test_each_todo_wakes_one_waiter_and_the_first_that_fits() -> None:
    room = WaitingRoom()
    other, first, second = waiter("a", "docs"), waiter("b", "builds"), waiter("c", "builds")
    for one in (other, first, second):
        room.enter(one)
    assert [room.offer(ready()) for _ in range(3)] == [True, True, False]
    assert not other.wake.is_set()
    assert first.wake.is_set()
    assert second.wake.is_set()


def test_an_assigned_or_foreign_todo_wakes_nobody_else() -> None:
    room = WaitingRoom()
    room.enter(waiter("a", "builds"))
    assert not room.offer(ready(assignee_id="b"))
    assert not room.offer(ready(workspace_id="ws_2"))


def test_a_waiter_that_leaves_hands_back_the_todo_it_did_not_try() -> None:
    room, one, todo = WaitingRoom(), waiter("a", "builds"), ready()
    room.enter(one)
    room.offer(todo)
    assert room.leave(one) is todo
    assert len(room) == 0
