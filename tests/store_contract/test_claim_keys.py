"""A claim that can be asked for again by its key, as long as its lease lives."""

from __future__ import annotations

from switchboard.domain.endpoint import Caller
from switchboard.domain.refusal import Code, Reason, Refusal
from switchboard.domain.todo import State, Step, TodoId
from switchboard.records import Claimed, NothingReady
from tests.builders import LEASE_MS, QUEUE, Ledger, lease_hash, new_todo
from tests.clocks import FakeClock
from tests.store_contract.outcomes import changed, claimed, history, refused, unchanged

KEY = "turn-7"


async def next_under_key(
    ledger: Ledger, caller: Caller, token: bytes, key: str = KEY, queue: str = QUEUE
) -> Claimed | NothingReady | Refusal:
    return await ledger.store.claim_next_ready(caller, (queue,), LEASE_MS, token, key)


async def by_id_under_key(
    ledger: Ledger, caller: Caller, todo_id: TodoId, token: bytes
) -> Claimed | Refusal:
    return await ledger.store.claim_if_ready(caller, todo_id, LEASE_MS, token, KEY)


async def test_the_same_key_gives_the_same_claim_with_the_fresh_token(ledger: Ledger) -> None:
    caller, first, second = await ledger.vend(), lease_hash(), lease_hash()
    await ledger.add(new_todo(ledger.clock), new_todo(ledger.clock))
    one = claimed(await next_under_key(ledger, caller, first))
    todo_id = one.todo.id
    again = claimed(await next_under_key(ledger, caller, second))
    assert (one.regranted, again.regranted) == (False, True)
    assert (again.todo.id, again.todo.attempt) == (todo_id, 1)
    assert again.todo.lease_expires_at_ms == one.todo.lease_expires_at_ms
    store = ledger.store
    async with unchanged(ledger, todo_id):
        stale = await store.complete_if_held(caller, todo_id, first, None, None)
        refused(stale, Code.CONFLICT, Reason.STALE_TOKEN)
    changed(await store.complete_if_held(caller, todo_id, second, "1", None))
    changed(await store.complete_if_held(caller, todo_id, second, "1", None), repeated=True)
    known = await history(ledger, todo_id)
    assert [event.step for event in known.events] == [
        Step.CREATE,
        Step.CLAIM,
        Step.REGRANT,
        Step.COMPLETE,
    ]
    assert len(known.attempts) == 1


async def test_a_regranted_lease_still_needs_no_token_for_it_is_one_claim(ledger: Ledger) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    claimed(await by_id_under_key(ledger, caller, todo_id, lease_hash()))
    claimed(await by_id_under_key(ledger, caller, todo_id, lease_hash()))
    changed(await ledger.store.heartbeat_if_held(caller, todo_id, None, LEASE_MS, None))


async def test_a_key_is_its_endpoints_own(ledger: Ledger) -> None:
    one, other = await ledger.vend("one"), await ledger.vend("two")
    todo_id = await ledger.add_one()
    claimed(await next_under_key(ledger, one, lease_hash()))
    async with unchanged(ledger, todo_id):
        assert isinstance(await next_under_key(ledger, other, lease_hash()), NothingReady)
        answer = await by_id_under_key(ledger, other, todo_id, lease_hash())
        refused(answer, Code.CONFLICT, Reason.HELD_BY_OTHER)


async def test_a_key_of_another_question_is_refused_by_name(ledger: Ledger) -> None:
    caller = await ledger.vend(queues=(QUEUE, "builds"))
    held, other = await ledger.add(new_todo(ledger.clock), new_todo(ledger.clock))
    await ledger.add_one(new_todo(ledger.clock, queue="builds"))
    claimed(await by_id_under_key(ledger, caller, held, lease_hash()))
    async with unchanged(ledger, held, other):
        for answer in (
            await by_id_under_key(ledger, caller, other, lease_hash()),
            await next_under_key(ledger, caller, lease_hash(), queue="builds"),
        ):
            assert answer == Refusal(Code.INVALID_ARGUMENT, field="claim_key")


async def test_a_key_names_nothing_once_its_lease_is_over(ledger: Ledger, clock: FakeClock) -> None:
    caller = await ledger.vend()
    first, second = await ledger.add(new_todo(clock), new_todo(clock))
    token = lease_hash()
    claimed(await by_id_under_key(ledger, caller, first, token))
    changed(await ledger.store.complete_if_held(caller, first, token, None, None))
    assert claimed(await next_under_key(ledger, caller, lease_hash())).todo.id == second
    clock.advance(LEASE_MS + 1)
    taken_over = claimed(await next_under_key(ledger, caller, lease_hash()))
    assert (taken_over.todo.attempt, taken_over.regranted) == (2, False)


async def test_a_claim_without_a_key_takes_the_key_away(ledger: Ledger, clock: FakeClock) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    claimed(await by_id_under_key(ledger, caller, todo_id, lease_hash()))
    clock.advance(LEASE_MS + 1)
    await ledger.claim(caller, todo_id)
    assert isinstance(await next_under_key(ledger, caller, lease_hash()), NothingReady)


async def test_a_lease_that_was_taken_up_again_answers_to_its_key(
    ledger: Ledger, clock: FakeClock
) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    token = lease_hash()
    claimed(await by_id_under_key(ledger, caller, todo_id, token))
    clock.advance(LEASE_MS + 1)
    await ledger.store.sweep_lapsed(10)
    changed(await ledger.store.heartbeat_if_held(caller, todo_id, token, LEASE_MS, None))
    again = claimed(await next_under_key(ledger, caller, lease_hash()))
    assert (again.todo.id, again.regranted) == (todo_id, True)
    assert again.todo.state is State.CLAIMED


async def test_a_revoked_endpoints_key_opens_nothing(ledger: Ledger) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    claimed(await by_id_under_key(ledger, caller, todo_id, lease_hash()))
    await ledger.store.revoke_endpoint_if_active(ledger.workspace_id, caller.slug, ledger.owner)
    async with unchanged(ledger, todo_id):
        refused(await next_under_key(ledger, caller, lease_hash()), Code.FORBIDDEN)
