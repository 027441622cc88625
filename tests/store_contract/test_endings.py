"""Complete, fail, release, their repetition, and what people do."""

from __future__ import annotations

from switchboard.domain.refusal import Code, Reason
from switchboard.domain.todo import Outcome, State
from tests.builders import LEASE_MS, Ledger, lease_hash, new_todo
from tests.clocks import FakeClock
from tests.store_contract.outcomes import changed, history, refused, unchanged


async def test_a_completed_todo_keeps_result_and_summary(ledger: Ledger, clock: FakeClock) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    _, token = await ledger.claim(caller, todo_id)
    todo = changed(
        await ledger.store.complete_if_held(caller, todo_id, token, '{"ok":true}', "merged")
    )
    assert (todo.state, todo.result_json, todo.summary) == (State.DONE, '{"ok":true}', "merged")
    assert todo.ended_at_ms == clock.now_ms()
    assert [a.outcome for a in (await history(ledger, todo_id)).attempts] == [Outcome.DONE]


async def test_a_repeated_complete_succeeds_and_another_result_is_a_conflict(
    ledger: Ledger,
) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    _, token = await ledger.claim(caller, todo_id)
    complete = ledger.store.complete_if_held
    changed(await complete(caller, todo_id, token, "1", "done"))
    async with unchanged(ledger, todo_id):
        changed(await complete(caller, todo_id, token, "1", "done"), repeated=True)
        refused(await complete(caller, todo_id, token, "2", "done"), Code.CONFLICT)


async def test_a_repeated_fail_spends_one_failure(ledger: Ledger) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    _, token = await ledger.claim(caller, todo_id)
    fail = ledger.store.fail_if_held
    changed(await fail(caller, todo_id, token, "flaky", None, True))
    async with unchanged(ledger, todo_id):
        changed(await fail(caller, todo_id, token, "flaky", None, True), repeated=True)
    assert (await history(ledger, todo_id)).todo.failures == 1


async def test_a_repeated_release_is_no_second_release(ledger: Ledger) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    _, token = await ledger.claim(caller, todo_id)
    changed(await ledger.store.release_if_held(caller, todo_id, token, 0))
    async with unchanged(ledger, todo_id):
        answer = await ledger.store.release_if_held(caller, todo_id, token, 0)
        changed(answer, repeated=True)


async def test_a_failed_attempt_waits_out_its_backoff(ledger: Ledger, clock: FakeClock) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    _, token = await ledger.claim(caller, todo_id)
    todo = changed(await ledger.store.fail_if_held(caller, todo_id, token, "flaky", None, True))
    assert (todo.state, todo.failures, todo.lapses) == (State.PENDING, 1, 0)
    assert (todo.holder_id, todo.lease_expires_at_ms) == (None, None)
    wait_ms = todo.available_at_ms - clock.now_ms()
    assert 27_000 <= wait_ms <= 33_000
    async with unchanged(ledger, todo_id):
        early = await ledger.store.claim_if_ready(caller, todo_id, LEASE_MS, lease_hash())
        refused(early, Code.CONFLICT, Reason.NOT_DUE)
    clock.advance(wait_ms)
    again, _ = await ledger.claim(caller, todo_id)
    assert [a.outcome for a in again.prior] == [Outcome.FAILED]


async def test_failures_up_to_the_cap_make_a_dead_letter_with_the_last_reason(
    ledger: Ledger, clock: FakeClock
) -> None:
    caller = await ledger.vend()
    todo_id = await ledger.add_one(new_todo(clock, max_attempts=2))
    for reason, expected in (("first", State.PENDING), ("second", State.FAILED)):
        _, token = await ledger.claim(caller, todo_id)
        answer = await ledger.store.fail_if_held(caller, todo_id, token, reason, None, True)
        assert changed(answer).state is expected
        clock.advance(900_000)
    todo = (await history(ledger, todo_id)).todo
    assert (todo.failures, todo.failure_reason) == (2, "second")


async def test_a_failure_that_wants_no_retry_is_final_at_once(ledger: Ledger) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    _, token = await ledger.claim(caller, todo_id)
    todo = changed(await ledger.store.fail_if_held(caller, todo_id, token, "bad", None, False))
    assert (todo.state, todo.failure_reason) == (State.FAILED, "bad")


async def test_a_release_costs_no_failure_and_no_lapse(ledger: Ledger, clock: FakeClock) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    _, token = await ledger.claim(caller, todo_id)
    todo = changed(await ledger.store.release_if_held(caller, todo_id, token, 5_000))
    assert (todo.state, todo.failures, todo.lapses) == (State.PENDING, 0, 0)
    assert todo.available_at_ms == clock.now_ms() + 5_000
    assert [a.outcome for a in (await history(ledger, todo_id)).attempts] == [Outcome.RELEASED]


async def test_a_persons_release_takes_the_todo_from_its_holder(ledger: Ledger) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    _, token = await ledger.claim(caller, todo_id)
    answer = await ledger.store.release_if_claimed(ledger.workspace_id, todo_id, ledger.owner)
    assert changed(answer).state is State.PENDING
    async with unchanged(ledger, todo_id):
        late = await ledger.store.complete_if_held(caller, todo_id, token, None, None)
        refused(late, Code.CONFLICT)
    known = await history(ledger, todo_id)
    assert [a.outcome for a in known.attempts] == [Outcome.RELEASED]
    assert ledger.owner.name in {e.actor_name for e in known.events}


async def test_a_persons_retry_starts_the_counters_anew(ledger: Ledger, clock: FakeClock) -> None:
    caller, todo_id = await ledger.vend(), await ledger.add_one()
    _, token = await ledger.claim(caller, todo_id)
    await ledger.store.fail_if_held(caller, todo_id, token, "bad", None, False)
    await ledger.store.count_ring(todo_id)
    answer = await ledger.store.retry_if_failed(ledger.workspace_id, todo_id, ledger.owner)
    todo = changed(answer)
    assert (todo.state, todo.failures, todo.lapses, todo.rings) == (State.PENDING, 0, 0, 0)
    await ledger.claim(caller, todo_id)
