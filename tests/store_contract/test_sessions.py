from __future__ import annotations

import secrets

from switchboard.domain.endpoint import Caller
from switchboard.records import Ended, Session
from tests.builders import Ledger
from tests.clocks import FakeClock


def _session(caller: Caller, clock: FakeClock) -> Session:
    return Session(
        id=secrets.token_hex(16),
        endpoint_id=caller.endpoint_id,
        protocol_version="2025-11-25",
        client_info_json='{"name":"probe","version":"1"}',
        client_capabilities_json="{}",
        created_at_ms=clock.now_ms(),
        last_used_at_ms=clock.now_ms(),
    )


async def test_a_session_is_its_endpoints_alone_until_it_is_closed(
    ledger: Ledger, clock: FakeClock
) -> None:
    one, two = await ledger.vend("one"), await ledger.vend("two")
    session = _session(one, clock)
    assert not await ledger.store.open_session(session, keep=256)
    assert await ledger.store.session(one.endpoint_id, session.id) == session
    assert await ledger.store.session(two.endpoint_id, session.id) is None
    assert not await ledger.store.close_session(two.endpoint_id, session.id)
    assert await ledger.store.close_session(one.endpoint_id, session.id)
    assert await ledger.store.session(one.endpoint_id, session.id) is None
    assert not await ledger.store.close_session(one.endpoint_id, session.id)


async def test_beyond_the_limit_the_longest_idle_session_ends(
    ledger: Ledger, clock: FakeClock
) -> None:
    caller = await ledger.vend()
    sessions: list[Session] = []
    for _ in range(2):
        sessions.append(_session(caller, clock))
        await ledger.store.open_session(sessions[-1], keep=2)
        clock.advance(1_000)
    await ledger.store.touch_sessions([(sessions[0].id, clock.now_ms())])
    ended = await ledger.store.open_session(_session(caller, clock), keep=2)
    assert list(ended) == [sessions[1].id]
    assert await ledger.store.session(caller.endpoint_id, sessions[0].id) is not None


async def test_idle_sessions_end_and_used_ones_stay(ledger: Ledger, clock: FakeClock) -> None:
    caller = await ledger.vend()
    idle, used = _session(caller, clock), _session(caller, clock)
    await ledger.store.open_session(idle, keep=256)
    await ledger.store.open_session(used, keep=256)
    clock.advance(60_001)
    await ledger.store.touch_sessions([(used.id, clock.now_ms())])
    assert list(await ledger.store.close_idle_sessions(60_000)) == [idle.id]
    assert await ledger.store.session(caller.endpoint_id, used.id) is not None


async def test_revoking_an_endpoint_closes_its_sessions(ledger: Ledger, clock: FakeClock) -> None:
    caller = await ledger.vend()
    session = _session(caller, clock)
    await ledger.store.open_session(session, keep=256)
    ended = await ledger.store.revoke_endpoint_if_active(
        ledger.workspace_id, caller.slug, ledger.owner
    )
    assert isinstance(ended, Ended)
    assert ended.sessions_closed == 1
    assert await ledger.store.session(caller.endpoint_id, session.id) is None
