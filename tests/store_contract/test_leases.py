"""Heartbeats, lapses, takeover, and finishing after a sweep."""

from __future__ import annotations

import asyncio

from switchboard.domain.refusal import Code, Reason
from switchboard.domain.todo import Outcome, State, Step
from switchboard.records import NothingReady
from tests.builders import LEASE_MS, QUEUE, Ledger, lease_hash, new_todo
from tests.clocks import FakeClock
from tests.store_contract.outcomes import changed, claimed, history, refused, unchanged


async def test_a_heartbeat_extends_and_never_shortens(ledger: Ledger, clock: FakeClock) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    first, token = await ledger.claim(caller, todo_id, 3_600_000)
    beat = ledger.store.heartbeat_if_held
    todo = changed(await beat(caller, todo_id, token, 10_000, None))
    assert todo.lease_expires_at_ms == first.todo.lease_expires_at_ms
    todo = changed(await beat(caller, todo_id, token, 7_200_000, "half way"))
    assert todo.lease_expires_at_ms == clock.now_ms() + 7_200_000
    assert todo.attempt == 1
    assert (await history(ledger, todo_id)).attempts[-1].note == "half way"


async def test_a_wrong_token_is_a_conflict_on_every_verb(ledger: Ledger) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    await ledger.claim(caller, todo_id)
    s, wrong = ledger.store, lease_hash()
    async with unchanged(ledger, todo_id):
        for answer in (
            await s.heartbeat_if_held(caller, todo_id, wrong, LEASE_MS, None),
            await s.complete_if_held(caller, todo_id, wrong, None, None),
            await s.fail_if_held(caller, todo_id, wrong, None, None, True),
            await s.release_if_held(caller, todo_id, wrong, 0),
        ):
            refused(answer, Code.CONFLICT)


async def test_a_first_claim_needs_no_token_and_a_second_does(ledger: Ledger) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    await ledger.claim(caller, todo_id)
    changed(await ledger.store.heartbeat_if_held(caller, todo_id, None, LEASE_MS, None))
    changed(await ledger.store.release_if_held(caller, todo_id, None, 0))
    _, token = await ledger.claim(caller, todo_id)
    async with unchanged(ledger, todo_id):
        answer = await ledger.store.complete_if_held(caller, todo_id, None, None, None)
        assert refused(answer, Code.INVALID_ARGUMENT).field == "lease_token"
    changed(await ledger.store.complete_if_held(caller, todo_id, token, None, None))


async def test_a_lapsed_todo_is_taken_over_without_a_sweeper(
    ledger: Ledger, clock: FakeClock
) -> None:
    one, two, todo_id = await ledger.vend("one"), await ledger.vend("two"), await ledger.add_one()
    _, lost = await ledger.claim(one, todo_id)
    clock.advance(LEASE_MS + 1)
    taken, _ = await ledger.claim(two, todo_id)
    assert (taken.todo.attempt, taken.todo.lapses, taken.todo.failures) == (2, 1, 0)
    assert [a.outcome for a in taken.prior] == [Outcome.LAPSED]
    async with unchanged(ledger, todo_id):
        refused(await ledger.store.complete_if_held(one, todo_id, lost, None, None), Code.CONFLICT)
    assert Step.TAKEOVER in {e.step for e in (await history(ledger, todo_id)).events}


async def test_racing_sweeps_count_a_lapse_once(ledger: Ledger, clock: FakeClock) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    await ledger.claim(caller, todo_id)
    clock.advance(LEASE_MS + 1)
    swept = await asyncio.gather(*(ledger.store.sweep_lapsed(100) for _ in range(5)))
    assert sum(len(todos) for todos in swept) == 1
    known = await history(ledger, todo_id)
    assert (known.todo.state, known.todo.lapses) == (State.PENDING, 1)
    assert [a.outcome for a in known.attempts] == [Outcome.LAPSED]


async def test_a_todo_that_lapsed_queues_behind_its_peers_whether_or_not_it_was_swept(
    ledger: Ledger, clock: FakeClock
) -> None:
    caller, lapsing = await ledger.vend(), await ledger.add_one()
    for sweeps in (True, False):
        await ledger.claim(caller, lapsing)
        clock.advance(LEASE_MS - 1)
        peer = await ledger.add_one()
        clock.advance(2)
        if sweeps:
            (swept,) = await ledger.store.sweep_lapsed(100)
            assert swept.available_at_ms == clock.now_ms()
        answer = await ledger.store.claim_next_ready(caller, (QUEUE,), LEASE_MS, lease_hash())
        assert claimed(answer).todo.id == peer


async def test_a_live_lease_is_not_swept(ledger: Ledger, clock: FakeClock) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    _, token = await ledger.claim(caller, todo_id)
    clock.advance(LEASE_MS - 1)
    changed(await ledger.store.heartbeat_if_held(caller, todo_id, token, LEASE_MS, None))
    clock.advance(LEASE_MS - 1)
    async with unchanged(ledger, todo_id):
        assert not await ledger.store.sweep_lapsed(100)


async def test_a_todo_that_keeps_lapsing_is_buried_at_its_cap_by_the_sweeper(
    ledger: Ledger, clock: FakeClock
) -> None:
    caller = await ledger.vend()
    todo_id = await ledger.add_one(new_todo(clock, max_lapses=2))
    for expected in (State.PENDING, State.FAILED):
        await ledger.claim(caller, todo_id)
        clock.advance(LEASE_MS + 1)
        (swept,) = await ledger.store.sweep_lapsed(100)
        assert swept.state is expected
    known = await history(ledger, todo_id)
    assert (known.todo.lapses, known.todo.failures) == (2, 0)
    assert known.todo.failure_reason == "lapsed"


async def test_a_claim_buries_a_lapsed_todo_at_its_cap_and_goes_on(
    ledger: Ledger, clock: FakeClock
) -> None:
    caller = await ledger.vend()
    doomed = await ledger.add_one(new_todo(clock, priority=9, max_lapses=1))
    await ledger.claim(caller, doomed)
    healthy = await ledger.add_one()
    clock.advance(LEASE_MS + 1)
    answer = claimed(await ledger.store.claim_next_ready(caller, (QUEUE,), LEASE_MS, lease_hash()))
    assert answer.todo.id == healthy
    assert [todo.id for todo in answer.buried] == [doomed]
    assert (await history(ledger, doomed)).todo.state is State.FAILED
    empty = await ledger.store.claim_next_ready(caller, (QUEUE,), LEASE_MS, lease_hash())
    assert isinstance(empty, NothingReady)


async def test_a_swept_todo_may_still_be_completed_with_its_token(
    ledger: Ledger, clock: FakeClock
) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    _, token = await ledger.claim(caller, todo_id)
    clock.advance(LEASE_MS + 1)
    await ledger.store.sweep_lapsed(100)
    todo = changed(await ledger.store.complete_if_held(caller, todo_id, token, "1", None))
    assert (todo.state, todo.result_json) == (State.DONE, "1")


async def test_a_heartbeat_revives_a_swept_todo_in_the_same_attempt(
    ledger: Ledger, clock: FakeClock
) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    _, token = await ledger.claim(caller, todo_id)
    clock.advance(LEASE_MS + 1)
    await ledger.store.sweep_lapsed(100)
    todo = changed(await ledger.store.heartbeat_if_held(caller, todo_id, token, LEASE_MS, None))
    assert (todo.state, todo.attempt, todo.lapses) == (State.CLAIMED, 1, 1)
    assert Step.REVIVE in {e.step for e in (await history(ledger, todo_id)).events}


async def test_a_swept_todo_that_another_took_stays_taken(ledger: Ledger, clock: FakeClock) -> None:
    one, two, todo_id = await ledger.vend("one"), await ledger.vend("two"), await ledger.add_one()
    _, lost = await ledger.claim(one, todo_id)
    clock.advance(LEASE_MS + 1)
    await ledger.store.sweep_lapsed(100)
    await ledger.claim(two, todo_id)
    async with unchanged(ledger, todo_id):
        beat = await ledger.store.heartbeat_if_held(one, todo_id, lost, LEASE_MS, None)
        refused(beat, Code.CONFLICT)
        done = await ledger.store.complete_if_held(one, todo_id, lost, None, None)
        refused(done, Code.CONFLICT)


async def test_a_cancelled_todo_refuses_its_late_holder(ledger: Ledger) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    _, token = await ledger.claim(caller, todo_id)
    changed(await ledger.store.cancel_if_live(ledger.workspace_id, todo_id, ledger.owner))
    async with unchanged(ledger, todo_id):
        answer = await ledger.store.complete_if_held(caller, todo_id, token, None, None)
        refused(answer, Code.CONFLICT, Reason.CANCELLED)
