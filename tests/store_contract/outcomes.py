"""What the contract tests ask of an answer: the step was taken, or refused with nothing changed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from switchboard.domain.refusal import Code, Reason, Refusal
from switchboard.domain.todo import Todo, TodoId
from switchboard.records import Changed, Claimed, TodoHistory
from tests.builders import Ledger


async def history(ledger: Ledger, todo_id: TodoId) -> TodoHistory:
    """Everything the ledger knows of a todo that exists."""
    known = await ledger.store.todo(ledger.workspace_id, todo_id)
    assert known is not None
    return known


@asynccontextmanager
async def unchanged(ledger: Ledger, *todo_ids: TodoId) -> AsyncGenerator[None, None]:
    """The body must leave row, attempts and events of these todos exactly as they were."""
    before = [await history(ledger, todo_id) for todo_id in todo_ids]
    yield
    assert [await history(ledger, todo_id) for todo_id in todo_ids] == before


def claimed(answer: object) -> Claimed:
    """The lease that was granted."""
    assert isinstance(answer, Claimed), answer
    return answer


def changed(answer: object, *, repeated: bool = False) -> Todo:
    """The todo after a step that was taken now, or (`repeated`) earlier with the same content."""
    assert isinstance(answer, Changed), answer
    assert answer.repeated is repeated
    return answer.todo


def refused(answer: object, code: Code, reason: Reason | None = None) -> Refusal:
    """The refusal, with this code and, when given, this reason."""
    assert isinstance(answer, Refusal), answer
    assert answer.code is code
    if reason is not None:
        assert answer.reason is reason
    return answer
