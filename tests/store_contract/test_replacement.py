"""A new endpoint in the place of another: what moves, what goes back, what is given up."""

from __future__ import annotations

import secrets

from switchboard.domain.credential import mint_credential
from switchboard.domain.endpoint import EndpointState
from switchboard.domain.refusal import Code
from switchboard.domain.todo import Outcome, State, TodoId
from switchboard.records import NewEndpoint, Replaced
from tests.builders import QUEUE, Ledger, new_endpoint, new_todo
from tests.store_contract.outcomes import history, refused, unchanged


def heir(ledger: Ledger, *queues: str) -> NewEndpoint:
    credential = mint_credential(secrets.token_bytes)
    return new_endpoint(ledger.clock, credential, queues=queues or (QUEUE,))


async def replace(ledger: Ledger, slug: str, new: NewEndpoint) -> Replaced:
    answer = await ledger.store.replace_endpoint_if_active(
        ledger.workspace_id, slug, new, ledger.owner
    )
    assert isinstance(answer, Replaced), answer
    return answer


async def steps(ledger: Ledger, todo_id: TodoId) -> list[tuple[str, str | None]]:
    return [(one.step.value, one.detail) for one in (await history(ledger, todo_id)).events]


async def test_what_waits_for_the_old_endpoint_waits_for_the_new_one(ledger: Ledger) -> None:
    old, new = await ledger.vend(), heir(ledger)
    todo_id = await ledger.add_one(new_todo(ledger.clock, assignee_id=old.endpoint_id))
    replaced = await replace(ledger, old.slug, new)
    assert replaced.endpoint.id == new.id
    assert replaced.ended.endpoint.state is EndpointState.REVOKED
    assert [todo.id for todo in replaced.moved] == [todo_id]
    assert replaced.ended.failed == ()
    assert await steps(ledger, todo_id) == [("create", None), ("edit", "assignee")]
    caller = await ledger.store.caller_by_credential(new.credential_hash)
    assert caller is not None
    await ledger.claim(caller, todo_id)


async def test_work_that_the_old_endpoint_holds_goes_back_free_of_charge(ledger: Ledger) -> None:
    old, other, new = await ledger.vend(), await ledger.vend(), heir(ledger)
    mine = await ledger.add_one(new_todo(ledger.clock, assignee_id=old.endpoint_id))
    anyones, theirs = await ledger.add_one(), await ledger.add_one()
    await ledger.claim(old, mine)
    await ledger.claim(old, anyones)
    await ledger.claim(other, theirs)
    async with unchanged(ledger, theirs):
        replaced = await replace(ledger, old.slug, new)
    assert [todo.id for todo in replaced.moved] == [mine]
    assert [todo.id for todo in replaced.ended.released] == [anyones]
    for todo_id in (mine, anyones):
        known = await history(ledger, todo_id)
        assert (known.todo.state, known.todo.lapses) == (State.PENDING, 0)
        assert [attempt.outcome for attempt in known.attempts] == [Outcome.REVOKED]
    assert (await history(ledger, mine)).todo.assignee_id == new.id
    assert (await history(ledger, anyones)).todo.assignee_id is None


async def test_an_assignment_beyond_the_new_scope_is_given_up_and_not_left_waiting(
    ledger: Ledger,
) -> None:
    old = await ledger.vend(queues=(QUEUE, "builds"))
    beyond = await ledger.add_one(
        new_todo(ledger.clock, queue="builds", assignee_id=old.endpoint_id)
    )
    replaced = await replace(ledger, old.slug, heir(ledger, QUEUE))
    assert replaced.moved == ()
    assert [todo.id for todo in replaced.ended.failed] == [beyond]
    todo = (await history(ledger, beyond)).todo
    assert (todo.state, todo.failure_reason) == (State.FAILED, "endpoint_revoked")


async def test_an_endpoint_that_has_ended_or_never_was_is_not_replaced_and_nothing_is_vended(
    ledger: Ledger,
) -> None:
    gone = await ledger.vend()
    await ledger.store.revoke_endpoint_if_active(ledger.workspace_id, gone.slug, ledger.owner)
    before = await ledger.store.endpoints(ledger.workspace_id)
    for slug, code in ((gone.slug, Code.CONFLICT), ("nobody-00000000", Code.NOT_FOUND)):
        answer = await ledger.store.replace_endpoint_if_active(
            ledger.workspace_id, slug, heir(ledger, "brand-new"), ledger.owner
        )
        refused(answer, code)
    assert await ledger.store.endpoints(ledger.workspace_id) == before
    names = [queue.name for queue in await ledger.store.queues(ledger.workspace_id)]
    assert "brand-new" not in names
