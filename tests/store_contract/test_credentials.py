"""Rotation: a second credential of one endpoint, its overlap, and how the first one ends."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field

from switchboard.domain.credential import display_prefix, hash_secret, mint_credential
from switchboard.domain.endpoint import Caller
from switchboard.domain.refusal import Code, Refusal
from switchboard.records import Claimed, NewCredential, Rotated, Session
from tests.builders import LEASE_MS, QUEUE, Ledger, lease_hash, new_id
from tests.clocks import FakeClock
from tests.store_contract.outcomes import changed, refused, unchanged

OVERLAP_MS = 600_000


@dataclass
class Key:
    """A minted credential, as a rotation brings it in."""

    new: NewCredential
    secret: str = field(repr=False)


def mint(ledger: Ledger) -> Key:
    secret = mint_credential(secrets.token_bytes)
    new = NewCredential(new_id("cr", ledger.clock), hash_secret(secret), display_prefix(secret))
    return Key(new, secret)


async def rotate(ledger: Ledger, slug: str, key: Key, overlap_ms: int = 0) -> Rotated:
    answer = await ledger.store.rotate_credential_if_active(
        ledger.workspace_id, slug, key.new, overlap_ms
    )
    assert isinstance(answer, Rotated), answer
    return answer


async def opens(ledger: Ledger, key: Key) -> Caller | None:
    return await ledger.store.caller_by_credential(key.new.hash)


async def test_a_rotation_without_overlap_ends_the_old_credential_at_once(ledger: Ledger) -> None:
    old, new = await ledger.vend(), mint(ledger)
    rotated = await rotate(ledger, old.slug, new)
    assert [one.id for one in rotated.ended] == [old.credential_id]
    assert rotated.endpoint.previous_until_ms is None
    assert rotated.endpoint.credential_prefix == new.new.prefix
    assert new.secret not in repr(rotated)
    caller = await opens(ledger, new)
    assert caller is not None
    assert (caller.endpoint_id, caller.queues, caller.verbs) == (
        old.endpoint_id,
        old.queues,
        old.verbs,
    )
    assert caller.credential_id != old.credential_id


async def test_a_call_of_the_old_credential_that_is_past_authentication_cannot_write(
    ledger: Ledger,
) -> None:
    old = await ledger.vend()
    held, waiting = await ledger.add_one(), await ledger.add_one()
    store, token = ledger.store, lease_hash()
    assert isinstance(await store.claim_if_ready(old, held, LEASE_MS, token, "k"), Claimed)
    await rotate(ledger, old.slug, mint(ledger))
    async with unchanged(ledger, held, waiting):
        for answer in (
            await store.claim_if_ready(old, waiting, LEASE_MS, lease_hash()),
            await store.claim_next_ready(old, (QUEUE,), LEASE_MS, lease_hash()),
            await store.claim_if_ready(old, held, LEASE_MS, lease_hash(), "k"),
            await store.heartbeat_if_held(old, held, token, LEASE_MS, None),
            await store.complete_if_held(old, held, token, None, None),
            await store.fail_if_held(old, held, token, None, None, True),
            await store.release_if_held(old, held, token, 0),
        ):
            assert isinstance(answer, Refusal), answer


async def test_the_new_credential_goes_on_with_the_sessions_and_claims_of_the_old(
    ledger: Ledger,
) -> None:
    old, new, todo_id = await ledger.vend(), mint(ledger), await ledger.add_one()
    now_ms = ledger.clock.now_ms()
    await ledger.store.open_session(
        Session("s1", old.endpoint_id, "2025-11-25", "{}", "{}", now_ms, now_ms), 256
    )
    _, token = await ledger.claim(old, todo_id)
    await rotate(ledger, old.slug, new)
    caller = await opens(ledger, new)
    assert caller is not None
    assert await ledger.store.session(caller.endpoint_id, "s1") is not None
    changed(await ledger.store.complete_if_held(caller, todo_id, token, "7", None))


async def test_both_credentials_work_during_the_overlap_and_the_old_one_not_a_moment_longer(
    ledger: Ledger, clock: FakeClock
) -> None:
    first, second = mint(ledger), mint(ledger)
    slug = (await ledger.vend()).slug
    await rotate(ledger, slug, first)
    rotated = await rotate(ledger, slug, second, OVERLAP_MS)
    assert rotated.ended == ()
    assert rotated.endpoint.previous_until_ms == clock.now_ms() + OVERLAP_MS
    assert rotated.endpoint == await ledger.store.endpoint(ledger.workspace_id, slug)
    assert await ledger.store.next_expiry_in_ms() == OVERLAP_MS
    clock.advance(OVERLAP_MS - 1)
    old = await opens(ledger, first)
    assert old is not None
    assert old.expires_at_ms == clock.now_ms() + 1
    assert not await ledger.store.expire_credentials(10)
    clock.advance(1)
    assert await opens(ledger, first) is None
    assert await opens(ledger, second) is not None
    nothing = await ledger.store.claim_next_ready(old, (QUEUE,), LEASE_MS, lease_hash())
    assert not isinstance(nothing, Claimed)
    (shown,) = await ledger.store.endpoints(ledger.workspace_id)
    assert (shown.credential_prefix, shown.previous_until_ms) == (second.new.prefix, None)


async def test_the_end_of_an_overlap_is_told_once(ledger: Ledger, clock: FakeClock) -> None:
    old, new = await ledger.vend(), mint(ledger)
    await rotate(ledger, old.slug, new, OVERLAP_MS)
    clock.advance(OVERLAP_MS)
    (ended,) = await ledger.store.expire_credentials(10)
    assert (ended.id, ended.endpoint_id) == (old.credential_id, old.endpoint_id)
    assert ended.workspace_id == ledger.workspace_id
    assert not await ledger.store.expire_credentials(10)
    assert await ledger.store.next_expiry_in_ms() is None


async def test_a_third_credential_ends_the_first_so_that_two_live_at_most(
    ledger: Ledger,
) -> None:
    caller, keys = await ledger.vend(), [mint(ledger) for _ in range(3)]
    await rotate(ledger, caller.slug, keys[0], OVERLAP_MS)
    rotated = await rotate(ledger, caller.slug, keys[1], OVERLAP_MS)
    assert [one.id for one in rotated.ended] == [caller.credential_id]
    rotated = await rotate(ledger, caller.slug, keys[2], OVERLAP_MS)
    assert [one.id for one in rotated.ended] == [keys[0].new.id]
    assert [await opens(ledger, key) is not None for key in keys] == [False, True, True]
    rotated = await rotate(ledger, caller.slug, mint(ledger))
    assert {one.id for one in rotated.ended} == {keys[1].new.id, keys[2].new.id}


async def test_of_many_rotations_at_once_exactly_two_credentials_are_left(ledger: Ledger) -> None:
    caller, keys = await ledger.vend(), [mint(ledger) for _ in range(20)]
    answers = await asyncio.gather(
        *(rotate(ledger, caller.slug, key, OVERLAP_MS) for key in keys),
    )
    assert sum([await opens(ledger, key) is not None for key in keys]) == 2
    ended = [one.id for answer in answers for one in answer.ended]
    assert len(set(ended)) == len(ended) == 19, "each end is told once"


async def test_an_overlap_never_outlives_its_endpoint(ledger: Ledger, clock: FakeClock) -> None:
    old, new = await ledger.vend(lifetime_ms=60_000), mint(ledger)
    await rotate(ledger, old.slug, new, OVERLAP_MS)
    clock.advance(60_000)
    assert await opens(ledger, new) is None
    assert len(await ledger.store.expire_endpoints(10)) == 1
    assert not await ledger.store.expire_credentials(10), "its credentials ended with it"
    assert await ledger.store.next_expiry_in_ms() is None


async def test_revoking_ends_both_credentials(ledger: Ledger) -> None:
    caller, first, second = await ledger.vend(), mint(ledger), mint(ledger)
    await rotate(ledger, caller.slug, first)
    await rotate(ledger, caller.slug, second, OVERLAP_MS)
    assert await opens(ledger, first) is not None
    await ledger.store.revoke_endpoint_if_active(ledger.workspace_id, caller.slug, ledger.owner)
    assert await opens(ledger, first) is None
    assert await opens(ledger, second) is None


async def test_an_endpoint_that_has_ended_or_never_was_is_not_rotated(
    ledger: Ledger, clock: FakeClock
) -> None:
    async def attempt(slug: str, key: Key) -> object:
        return await ledger.store.rotate_credential_if_active(
            ledger.workspace_id, slug, key.new, OVERLAP_MS
        )

    gone, passed, key = await ledger.vend(), await ledger.vend(lifetime_ms=1_000), mint(ledger)
    await ledger.store.revoke_endpoint_if_active(ledger.workspace_id, gone.slug, ledger.owner)
    clock.advance(1_000)
    refused(await attempt(gone.slug, key), Code.CONFLICT)
    refused(await attempt(passed.slug, key), Code.CONFLICT)
    refused(await attempt("nobody-00000000", key), Code.NOT_FOUND)
    assert await opens(ledger, key) is None


async def test_which_credentials_are_over_can_be_asked_whatever_ended_them(
    ledger: Ledger, clock: FakeClock
) -> None:
    revoked, brief, rotated, fine = [
        await ledger.vend(lifetime_ms=60_000 if name == "brief" else None)
        for name in ("revoked", "brief", "rotated", "fine")
    ]
    everybody = [one.credential_id for one in (revoked, brief, rotated, fine)]
    assert list(await ledger.store.ended_credentials(everybody)) == []
    await ledger.store.revoke_endpoint_if_active(ledger.workspace_id, revoked.slug, ledger.owner)
    await rotate(ledger, rotated.slug, mint(ledger), OVERLAP_MS)
    assert list(await ledger.store.ended_credentials(everybody)) == [revoked.credential_id]
    clock.advance(OVERLAP_MS)
    ended = await ledger.store.ended_credentials([*everybody, "cr_nobodys"])
    assert set(ended) == set(everybody) - {fine.credential_id}
    assert list(await ledger.store.ended_credentials([])) == []
