"""Every state × every verb × every party, against the table of the domain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from switchboard.domain.endpoint import Caller
from switchboard.domain.refusal import Refusal
from switchboard.domain.todo import TRANSITIONS, By, State, Step, TodoId
from tests.builders import LEASE_MS, Ledger, lease_hash, new_todo
from tests.clocks import FakeClock
from tests.specification import requirement
from tests.store_contract.outcomes import changed, history, unchanged

SWEPT = "swept"
SITUATIONS = (*(str(state) for state in State), SWEPT)


@dataclass(frozen=True, slots=True)
class Scene:
    """A todo in one situation, who held it last, and somebody who never did."""

    ledger: Ledger
    todo_id: TodoId
    holder: Caller
    stranger: Caller
    token: bytes


Act = Callable[[Scene], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Move:
    step: Step
    by: By
    act: Act


def _claim(caller: Callable[[Scene], Caller]) -> Act:
    return lambda s: s.ledger.store.claim_if_ready(caller(s), s.todo_id, LEASE_MS, lease_hash())


def _agent(caller: Callable[[Scene], Caller]) -> dict[Step, Act]:
    return {
        Step.HEARTBEAT: lambda s: s.ledger.store.heartbeat_if_held(
            caller(s), s.todo_id, s.token, LEASE_MS * 2, None
        ),
        Step.COMPLETE: lambda s: s.ledger.store.complete_if_held(
            caller(s), s.todo_id, s.token, '"other"', None
        ),
        Step.FAIL: lambda s: s.ledger.store.fail_if_held(
            caller(s), s.todo_id, s.token, "other", None, True
        ),
        Step.RELEASE: lambda s: s.ledger.store.release_if_held(caller(s), s.todo_id, s.token, 77),
    }


_HOLDER = _agent(lambda s: s.holder)
_STRANGER = _agent(lambda s: s.stranger)
_PERSON: dict[Step, Act] = {
    Step.RETRY: lambda s: s.ledger.store.retry_if_failed(
        s.ledger.workspace_id, s.todo_id, s.ledger.owner
    ),
    Step.CANCEL: lambda s: s.ledger.store.cancel_if_live(
        s.ledger.workspace_id, s.todo_id, s.ledger.owner
    ),
    Step.RELEASE: lambda s: s.ledger.store.release_if_claimed(
        s.ledger.workspace_id, s.todo_id, s.ledger.owner
    ),
}
MOVES = {
    "holder-claim": Move(Step.CLAIM, By.IN_SCOPE, _claim(lambda s: s.holder)),
    "stranger-claim": Move(Step.CLAIM, By.IN_SCOPE, _claim(lambda s: s.stranger)),
    **{f"holder-{step}": Move(step, By.HOLDER, act) for step, act in _HOLDER.items()},
    **{f"stranger-{step}": Move(step, By.IN_SCOPE, act) for step, act in _STRANGER.items()},
    **{f"person-{step}": Move(step, By.PERSON, act) for step, act in _PERSON.items()},
}


async def _scene(ledger: Ledger, clock: FakeClock, situation: str) -> Scene:
    """Each state by the shortest way that lets somebody have held the todo before."""
    holder, stranger = await ledger.vend("holder"), await ledger.vend("stranger")
    todo_id = await ledger.add_one(new_todo(clock))
    scene = Scene(ledger, todo_id, holder, stranger, lease_hash())
    if situation == State.PENDING:
        return scene
    _, token = await ledger.claim(holder, todo_id)
    store = ledger.store
    match situation:
        case State.DONE:
            changed(await store.complete_if_held(holder, todo_id, token, "1", None))
        case State.FAILED:
            changed(await store.fail_if_held(holder, todo_id, token, "bad", None, False))
        case State.CANCELLED:
            changed(await store.cancel_if_live(ledger.workspace_id, todo_id, ledger.owner))
        case "swept":
            clock.advance(LEASE_MS + 1)
            assert len(await store.sweep_lapsed(10)) == 1
        case _:
            pass
    return Scene(ledger, todo_id, holder, stranger, token)


def _targets(situation: str, move: Move) -> set[State]:
    """Where the table lets this move lead; empty: it must be refused."""
    swept = situation == SWEPT
    source = State.PENDING if swept else State(situation)
    steps = {move.step}
    if swept and move.step is Step.HEARTBEAT:
        steps.add(Step.REVIVE)
    found = [t for t in TRANSITIONS if t.step in steps and t.source is source and move.by in t.by]
    if not swept:
        found = [t for t in found if not t.guard.startswith("swept")]
    return {t.target for t in found}


@requirement("SPEC-0014/tools/lifecycle-is-the-queues")
@pytest.mark.parametrize("name", list(MOVES))
@pytest.mark.parametrize("situation", SITUATIONS)
async def test_a_move_follows_the_table_or_changes_nothing(
    ledger: Ledger, clock: FakeClock, situation: str, name: str
) -> None:
    move = MOVES[name]
    scene = await _scene(ledger, clock, situation)
    targets = _targets(situation, move)
    if targets:
        answer = await move.act(scene)
        assert not isinstance(answer, Refusal), answer
        known = await history(ledger, scene.todo_id)
        assert known.todo.state in targets
        assert known.events[-1].to_state is known.todo.state or (
            known.events[0].to_state is known.todo.state
        )
        return
    async with unchanged(ledger, scene.todo_id):
        assert isinstance(await move.act(scene), Refusal)
