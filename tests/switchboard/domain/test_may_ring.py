from __future__ import annotations

import pytest

from switchboard.domain.todo import State, Todo, TodoId, Trust, may_ring
from switchboard.domain.workspace import PersonId, WorkspaceId


def _todo(trust: Trust, *, person: bool, parent: bool) -> Todo:
    return Todo(
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
        trust=trust,
        person_id=PersonId("ps_1") if person else None,
        parent_id=TodoId("td_0") if parent else None,
        idempotency_key=None,
        rings=0,
        created_at_ms=0,
        updated_at_ms=0,
        ended_at_ms=None,
    )


@pytest.mark.parametrize("parent", [False, True])
@pytest.mark.parametrize("trust", [Trust.OPERATOR, Trust.SIGNED])
def test_verified_work_of_a_person_rings(trust: Trust, parent: bool) -> None:
    assert may_ring(_todo(trust, person=True, parent=parent))


@pytest.mark.parametrize("parent", [False, True])
def test_work_behind_a_mere_token_never_rings(parent: bool) -> None:
    assert not may_ring(_todo(Trust.TOKEN, person=True, parent=parent))


def test_an_agents_work_rings_only_below_a_parent() -> None:
    assert may_ring(_todo(Trust.AGENT, person=True, parent=True))
    assert not may_ring(_todo(Trust.AGENT, person=True, parent=False))


@pytest.mark.parametrize("parent", [False, True])
@pytest.mark.parametrize("trust", list(Trust))
def test_work_that_no_person_answers_for_never_rings(trust: Trust, parent: bool) -> None:
    assert not may_ring(_todo(trust, person=False, parent=parent))
