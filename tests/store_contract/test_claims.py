from __future__ import annotations

import asyncio

from switchboard.domain.refusal import Code, Reason
from switchboard.domain.todo import State, Step
from switchboard.records import Claimed, NothingReady
from tests.builders import LEASE_MS, QUEUE, Ledger, lease_hash, new_todo
from tests.clocks import FakeClock
from tests.store_contract.outcomes import changed, claimed, history, refused, unchanged


async def test_a_claim_opens_one_attempt_and_one_lease(ledger: Ledger, clock: FakeClock) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    granted, _ = await ledger.claim(caller, todo_id)
    assert (granted.todo.state, granted.todo.attempt) == (State.CLAIMED, 1)
    assert granted.todo.holder_id == caller.endpoint_id
    assert granted.todo.lease_expires_at_ms == clock.now_ms() + LEASE_MS
    known = await history(ledger, todo_id)
    assert [(a.number, a.holder_id, a.outcome) for a in known.attempts] == [
        (1, caller.endpoint_id, None)
    ]
    assert {e.step for e in known.events} == {Step.CREATE, Step.CLAIM}


async def test_twenty_claims_of_one_todo_have_one_winner(ledger: Ledger) -> None:
    callers = [await ledger.vend(f"worker-{n}") for n in range(4)]
    todo_id = await ledger.add_one()
    answers = await asyncio.gather(
        *(
            ledger.store.claim_if_ready(callers[n % 4], todo_id, LEASE_MS, lease_hash())
            for n in range(20)
        )
    )
    assert sum(isinstance(answer, Claimed) for answer in answers) == 1
    for answer in answers:
        if not isinstance(answer, Claimed):
            refused(answer, Code.CONFLICT, Reason.HELD_BY_OTHER)
    assert len((await history(ledger, todo_id)).attempts) == 1


async def test_parallel_claims_of_the_next_never_share_a_todo(ledger: Ledger) -> None:
    caller = await ledger.vend()
    ids = await ledger.add(*(new_todo(ledger.clock, f"todo {n}") for n in range(10)))
    answers = await asyncio.gather(
        *(
            ledger.store.claim_next_ready(caller, (QUEUE,), LEASE_MS, lease_hash())
            for _ in range(15)
        )
    )
    won = [answer.todo.id for answer in answers if isinstance(answer, Claimed)]
    assert sorted(won) == sorted(ids)
    assert sum(isinstance(answer, NothingReady) for answer in answers) == 5


async def test_a_live_lease_is_not_granted_again_even_to_its_holder(ledger: Ledger) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    await ledger.claim(caller, todo_id)
    async with unchanged(ledger, todo_id):
        answer = await ledger.store.claim_if_ready(caller, todo_id, LEASE_MS, lease_hash())
        refused(answer, Code.CONFLICT)


async def test_a_todo_that_is_not_due_waits(ledger: Ledger, clock: FakeClock) -> None:
    caller = await ledger.vend()
    todo_id = await ledger.add_one(new_todo(clock, delay_ms=60_000))
    async with unchanged(ledger, todo_id):
        answer = await ledger.store.claim_if_ready(caller, todo_id, LEASE_MS, lease_hash())
        refused(answer, Code.CONFLICT, Reason.NOT_DUE)
        empty = await ledger.store.claim_next_ready(caller, (QUEUE,), LEASE_MS, lease_hash())
        assert isinstance(empty, NothingReady)
        assert empty.next_ready_at_ms == clock.now_ms() + 60_000
    clock.advance(60_000)
    await ledger.claim(caller, todo_id)


async def test_an_assigned_todo_goes_to_its_assignee_alone(ledger: Ledger) -> None:
    assignee, other = await ledger.vend("one"), await ledger.vend("two")
    todo_id = await ledger.add_one(new_todo(ledger.clock, assignee_id=assignee.endpoint_id))
    async with unchanged(ledger, todo_id):
        answer = await ledger.store.claim_if_ready(other, todo_id, LEASE_MS, lease_hash())
        refused(answer, Code.CONFLICT, Reason.ASSIGNED_ELSEWHERE)
        empty = await ledger.store.claim_next_ready(other, (QUEUE,), LEASE_MS, lease_hash())
        assert isinstance(empty, NothingReady)
    await ledger.claim(assignee, todo_id)


async def test_a_paused_queue_hands_out_nothing_and_a_running_lease_can_end(
    ledger: Ledger,
) -> None:
    caller = await ledger.vend()
    held, waiting = await ledger.add(new_todo(ledger.clock), new_todo(ledger.clock))
    _, token = await ledger.claim(caller, held)
    await ledger.store.set_queue_paused(ledger.workspace_id, QUEUE, True, ledger.owner)
    async with unchanged(ledger, waiting):
        answer = await ledger.store.claim_if_ready(caller, waiting, LEASE_MS, lease_hash())
        refused(answer, Code.CONFLICT, Reason.PAUSED)
        empty = await ledger.store.claim_next_ready(caller, (QUEUE,), LEASE_MS, lease_hash())
        assert isinstance(empty, NothingReady)
    changed(await ledger.store.complete_if_held(caller, held, token, None, None))
    await ledger.store.set_queue_paused(ledger.workspace_id, QUEUE, False, ledger.owner)
    await ledger.claim(caller, waiting)


async def test_the_order_is_priority_then_due_time_then_age(
    ledger: Ledger, clock: FakeClock
) -> None:
    caller, now = await ledger.vend(), clock.now_ms()
    late = await ledger.add_one(new_todo(clock, "late"))
    early = await ledger.add_one(new_todo(clock, "early", available_at_ms=now - 5_000))
    urgent = await ledger.add_one(new_todo(clock, "urgent", priority=5))
    idle = await ledger.add_one(new_todo(clock, "idle", priority=-5, available_at_ms=now - 9_000))
    clock.advance(1)
    order = [
        claimed(await ledger.store.claim_next_ready(caller, (QUEUE,), LEASE_MS, lease_hash()))
        for _ in range(4)
    ]
    assert [one.todo.id for one in order] == [urgent, early, late, idle]


async def test_an_undone_claim_costs_no_attempt_and_keeps_its_events(ledger: Ledger) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    _, token = await ledger.claim(caller, todo_id)
    undone = await ledger.store.undo_claim(caller, todo_id, token)
    assert undone is not None
    assert (undone.state, undone.attempt, undone.holder_id) == (State.PENDING, 0, None)
    known = await history(ledger, todo_id)
    assert known.attempts == ()
    assert {Step.CLAIM, Step.UNDO_CLAIM} <= {e.step for e in known.events}
    assert await ledger.store.undo_claim(caller, todo_id, token) is None


async def test_undoing_with_another_claims_token_changes_nothing(ledger: Ledger) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    await ledger.claim(caller, todo_id)
    async with unchanged(ledger, todo_id):
        assert await ledger.store.undo_claim(caller, todo_id, lease_hash()) is None
