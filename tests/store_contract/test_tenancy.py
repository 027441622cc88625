"""A foreign id is answered exactly like one that never was."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from switchboard.domain.endpoint import Caller
from switchboard.domain.todo import TodoId
from switchboard.domain.workspace import WorkspaceId
from switchboard.records import TodoFilter
from tests.builders import LEASE_MS, Ledger, lease_hash, new_id, new_todo
from tests.store_contract.outcomes import unchanged

AgentVerb = Callable[[Ledger, Caller, TodoId, bytes], Awaitable[object]]
PersonVerb = Callable[[Ledger, WorkspaceId, TodoId], Awaitable[object]]

AGENT_VERBS: dict[str, AgentVerb] = {
    "claim": lambda x, c, t, k: x.store.claim_if_ready(c, t, LEASE_MS, k),
    "undo_claim": lambda x, c, t, k: x.store.undo_claim(c, t, k),
    "heartbeat": lambda x, c, t, k: x.store.heartbeat_if_held(c, t, k, LEASE_MS, None),
    "complete": lambda x, c, t, k: x.store.complete_if_held(c, t, k, None, None),
    "fail": lambda x, c, t, k: x.store.fail_if_held(c, t, k, None, None, True),
    "release": lambda x, c, t, k: x.store.release_if_held(c, t, k, 0),
    "get_todo": lambda x, c, t, _: x.store.todo_in_scope(c, t),
}

PERSON_VERBS: dict[str, PersonVerb] = {
    "retry": lambda x, w, t: x.store.retry_if_failed(w, t, x.owner),
    "cancel": lambda x, w, t: x.store.cancel_if_live(w, t, x.owner),
    "release": lambda x, w, t: x.store.release_if_claimed(w, t, x.owner),
    "show": lambda x, w, t: x.store.todo(w, t),
}


@pytest.mark.parametrize("verb", list(AGENT_VERBS))
async def test_out_of_scope_and_unknown_todos_are_answered_alike(ledger: Ledger, verb: str) -> None:
    holder = await ledger.vend("holder", queues=("secret",))
    stranger = await ledger.vend("stranger", queues=("reviews",))
    foreign = await ledger.add_one(new_todo(ledger.clock, queue="secret"))
    unknown = TodoId(new_id("td", ledger.clock))
    call = AGENT_VERBS[verb]
    expected = await call(ledger, stranger, unknown, lease_hash())
    async with unchanged(ledger, foreign):
        assert await call(ledger, stranger, foreign, lease_hash()) == expected
    _, token = await ledger.claim(holder, foreign)
    async with unchanged(ledger, foreign):
        assert await call(ledger, stranger, foreign, token) == expected


@pytest.mark.parametrize("verb", list(PERSON_VERBS))
async def test_another_workspaces_and_unknown_todos_are_answered_alike(
    ledger: Ledger, verb: str
) -> None:
    todo_id = await ledger.add_one()
    elsewhere = WorkspaceId(new_id("ws", ledger.clock))
    call = PERSON_VERBS[verb]
    unknown = await call(ledger, ledger.workspace_id, TodoId(new_id("td", ledger.clock)))
    async with unchanged(ledger, todo_id):
        assert await call(ledger, elsewhere, todo_id) == unknown


async def test_lists_show_nothing_of_another_scope_or_workspace(ledger: Ledger) -> None:
    stranger = await ledger.vend("stranger", queues=("reviews",))
    await ledger.add_one(new_todo(ledger.clock, queue="secret"))
    assert not await ledger.store.list_in_scope(stranger, TodoFilter(queues=stranger.queues))
    assert not await ledger.store.list_in_scope(stranger, TodoFilter(queues=("secret",)))
    elsewhere = WorkspaceId(new_id("ws", ledger.clock))
    assert not await ledger.store.list_todos(elsewhere, TodoFilter())
    assert not await ledger.store.queues(elsewhere)
    assert not await ledger.store.endpoints(elsewhere)
    assert (await ledger.store.ready_for(stranger, 3))[1] == 0


async def test_an_endpoint_of_another_workspace_is_as_good_as_none(ledger: Ledger) -> None:
    caller = await ledger.vend()
    elsewhere = WorkspaceId(new_id("ws", ledger.clock))
    assert await ledger.store.endpoint(elsewhere, caller.slug) is None
    revoke = ledger.store.revoke_endpoint_if_active
    assert await revoke(elsewhere, caller.slug, ledger.owner) == await revoke(
        elsewhere, "nobody-00000000", ledger.owner
    )
    known = await ledger.store.endpoint(ledger.workspace_id, caller.slug)
    assert known is not None
    assert known.ended_at_ms is None
