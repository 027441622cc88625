"""Attempt and event rows, written in the transaction of the change they tell of."""

from __future__ import annotations

from switchboard.domain.actor import Actor
from switchboard.domain.todo import Outcome, State, Step, Todo
from switchboard.stores.sqlite.connection import Transaction


def write_event(
    tx: Transaction,
    todo: Todo,
    step: Step,
    actor: Actor,
    was: State | None,
    detail: str | None = None,
) -> None:
    """One line of the todo's history; `todo` as it stands after the step."""
    tx.run(
        "insert_event",
        workspace_id=todo.workspace_id,
        todo_id=todo.id,
        step=step,
        actor_kind=actor.kind,
        actor_id=actor.id,
        actor_name=actor.name,
        from_state=was,
        to_state=todo.state,
        attempt=todo.attempt,
        detail=detail,
    )


def end_attempt(
    tx: Transaction,
    todo: Todo,
    outcome: Outcome,
    *,
    summary: str | None = None,
    digest: bytes | None = None,
) -> None:
    """Close the todo's latest attempt, or change how a lapsed one ended."""
    tx.run(
        "end_attempt",
        todo_id=todo.id,
        number=todo.attempt,
        outcome=outcome,
        summary=summary,
        digest=digest,
    )
