from __future__ import annotations

import pytest

from switchboard.domain.todo import Todo, TodoId, Trust, may_ring
from switchboard.domain.workspace import PersonId
from tests.switchboard.domain.todos import ready_todo


def _todo(trust: Trust, *, person: bool, parent: bool) -> Todo:
    return ready_todo(
        trust=trust,
        person_id=PersonId("ps_1") if person else None,
        parent_id=TodoId("td_0") if parent else None,
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
