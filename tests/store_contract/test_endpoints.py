"""Vending, ending by revocation or by time, last seen."""

from __future__ import annotations

import secrets

from switchboard.domain.credential import hash_secret, mint_credential
from switchboard.domain.endpoint import EndpointState
from switchboard.domain.refusal import Refusal
from switchboard.domain.todo import Outcome, State
from switchboard.records import Claimed, Ended
from tests.builders import LEASE_MS, QUEUE, Ledger, lease_hash, new_endpoint, new_todo
from tests.clocks import FakeClock
from tests.specification import requirement
from tests.store_contract.outcomes import changed, history, unchanged


async def _revoke(ledger: Ledger, slug: str) -> Ended | Refusal:
    return await ledger.store.revoke_endpoint_if_active(ledger.workspace_id, slug, ledger.owner)


@requirement("SPEC-0014/bearer/resolved-by-hash")
async def test_an_endpoint_is_found_by_the_hash_of_its_credential_alone(ledger: Ledger) -> None:
    credential = mint_credential(secrets.token_bytes)
    new = new_endpoint(ledger.clock, credential)
    vended = await ledger.store.vend_endpoint(ledger.workspace_id, new, ledger.owner)
    assert credential not in repr(vended)
    caller = await ledger.store.caller_by_credential(hash_secret(credential))
    assert caller is not None
    assert (caller.slug, caller.queues, caller.verbs) == (new.slug, new.queues, new.verbs)
    assert await ledger.store.caller_by_credential(hash_secret(credential + "x")) is None


async def test_a_revoked_endpoint_can_do_nothing_any_more(ledger: Ledger) -> None:
    credential = mint_credential(secrets.token_bytes)
    new = new_endpoint(ledger.clock, credential)
    await ledger.store.vend_endpoint(ledger.workspace_id, new, ledger.owner)
    caller = await ledger.store.caller_by_credential(new.credential_hash)
    assert caller is not None
    held, waiting = await ledger.add(new_todo(ledger.clock), new_todo(ledger.clock))
    _, token = await ledger.claim(caller, held)
    assert isinstance(await _revoke(ledger, caller.slug), Ended)
    assert await ledger.store.caller_by_credential(new.credential_hash) is None
    s = ledger.store
    async with unchanged(ledger, held, waiting):
        for answer in (
            await s.claim_if_ready(caller, waiting, LEASE_MS, lease_hash()),
            await s.heartbeat_if_held(caller, held, token, LEASE_MS, None),
            await s.complete_if_held(caller, held, token, None, None),
            await s.fail_if_held(caller, held, token, None, None, True),
            await s.release_if_held(caller, held, token, 0),
        ):
            assert isinstance(answer, Refusal)
        nothing = await s.claim_next_ready(caller, (QUEUE,), LEASE_MS, lease_hash())
        assert not isinstance(nothing, Claimed)


async def test_revoking_frees_claims_and_fails_assignments(ledger: Ledger) -> None:
    gone, other = await ledger.vend("gone"), await ledger.vend("other")
    held = await ledger.add_one()
    assigned = await ledger.add_one(new_todo(ledger.clock, assignee_id=gone.endpoint_id))
    theirs = await ledger.add_one()
    await ledger.claim(gone, held)
    await ledger.claim(other, theirs)
    async with unchanged(ledger, theirs):
        ended = await _revoke(ledger, gone.slug)
    assert isinstance(ended, Ended)
    assert [todo.id for todo in ended.released] == [held]
    assert [todo.id for todo in ended.failed] == [assigned]
    known = await history(ledger, held)
    assert (known.todo.state, known.todo.failures, known.todo.lapses) == (State.PENDING, 0, 0)
    assert [a.outcome for a in known.attempts] == [Outcome.REVOKED]
    todo = (await history(ledger, assigned)).todo
    assert (todo.state, todo.failure_reason) == (State.FAILED, "endpoint_revoked")
    assert todo.assignee_id is None
    await ledger.claim(other, held)


async def test_work_for_an_endpoint_that_ended_meanwhile_is_given_up_and_waits_for_nobody(
    ledger: Ledger,
) -> None:
    gone, here = await ledger.vend("gone"), await ledger.vend("here")
    await _revoke(ledger, gone.slug)
    late, fine = await ledger.add(
        new_todo(ledger.clock, assignee_id=gone.endpoint_id),
        new_todo(ledger.clock, assignee_id=here.endpoint_id),
    )
    known = await history(ledger, late)
    assert (known.todo.state, known.todo.failure_reason) == (State.FAILED, "endpoint_revoked")
    assert known.todo.assignee_id is None
    assert [event.step.value for event in known.events] == ["create", "revoke"]
    assert (await history(ledger, fine)).todo.state is State.PENDING


async def test_a_dead_letter_kept_for_an_ended_endpoint_is_retried_for_anybody(
    ledger: Ledger,
) -> None:
    gone, here = await ledger.vend("gone"), await ledger.vend("here")
    todo_ids = [
        await ledger.add_one(new_todo(ledger.clock, assignee_id=one.endpoint_id))
        for one in (gone, here)
    ]
    for one, todo_id in zip((gone, here), todo_ids, strict=True):
        _, token = await ledger.claim(one, todo_id)
        changed(await ledger.store.fail_if_held(one, todo_id, token, None, None, False))
    await _revoke(ledger, gone.slug)
    kept_for = [
        changed(
            await ledger.store.retry_if_failed(ledger.workspace_id, todo_id, ledger.owner)
        ).assignee_id
        for todo_id in todo_ids
    ]
    assert kept_for == [None, here.endpoint_id]


async def test_a_second_revocation_is_refused_and_changes_nothing(ledger: Ledger) -> None:
    caller = await ledger.vend()
    await _revoke(ledger, caller.slug)
    before = await ledger.store.endpoint(ledger.workspace_id, caller.slug)
    assert isinstance(await _revoke(ledger, caller.slug), Refusal)
    assert await ledger.store.endpoint(ledger.workspace_id, caller.slug) == before


async def test_a_passed_expiry_refuses_before_the_expirer_has_acted(
    ledger: Ledger, clock: FakeClock
) -> None:
    caller, todo_id = await ledger.vend(lifetime_ms=60_000), await ledger.add_one()
    assert await ledger.store.next_expiry_in_ms() == 60_000
    _, token = await ledger.claim(caller, todo_id)
    clock.advance(60_000)
    async with unchanged(ledger, todo_id):
        answer = await ledger.store.complete_if_held(caller, todo_id, token, None, None)
        assert isinstance(answer, Refusal)


async def test_the_expirer_ends_an_endpoint_as_a_revocation_does(
    ledger: Ledger, clock: FakeClock
) -> None:
    caller, todo_id = await ledger.vend(lifetime_ms=60_000), await ledger.add_one()
    await ledger.claim(caller, todo_id)
    assert not await ledger.store.expire_endpoints(10)
    clock.advance(60_000)
    (ended,) = await ledger.store.expire_endpoints(10)
    assert ended.endpoint.state is EndpointState.EXPIRED
    assert [todo.id for todo in ended.released] == [todo_id]
    assert not await ledger.store.expire_endpoints(10)
    assert await ledger.store.next_expiry_in_ms() is None


async def test_last_seen_never_moves_backwards(ledger: Ledger, clock: FakeClock) -> None:
    caller, now = await ledger.vend(), clock.now_ms()
    await ledger.store.stamp_last_seen([(caller.endpoint_id, now + 10)])
    await ledger.store.stamp_last_seen([(caller.endpoint_id, now)])
    known = await ledger.store.endpoint(ledger.workspace_id, caller.slug)
    assert known is not None
    assert known.last_seen_at_ms == now + 10
