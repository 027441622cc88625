from __future__ import annotations

import asyncio

from tests.builders import Ledger, new_todo
from tests.store_contract.outcomes import changed, unchanged


async def test_fifty_parallel_creates_with_one_key_make_one_todo(ledger: Ledger) -> None:
    todos = [new_todo(ledger.clock, key="pr-7") for _ in range(50)]
    answers = await asyncio.gather(
        *(ledger.store.create_todos(ledger.workspace_id, [t], ledger.owner) for t in todos)
    )
    created = [one for answer in answers for one in answer]
    assert len(created) == 50
    assert sum(one.created for one in created) == 1
    assert len({one.todo.id for one in created}) == 1


async def test_a_bulk_of_one_key_makes_one_todo(ledger: Ledger) -> None:
    todos = [new_todo(ledger.clock, key="pr-7") for _ in range(5)]
    answers = await ledger.store.create_todos(ledger.workspace_id, todos, ledger.owner)
    assert [one.created for one in answers] == [True, False, False, False, False]
    assert {one.todo.id for one in answers} == {answers[0].todo.id}


async def test_a_claimed_todo_still_holds_its_key_and_is_returned_untouched(
    ledger: Ledger,
) -> None:
    caller = await ledger.vend()
    first = await ledger.add_one(new_todo(ledger.clock, key="pr-7"))
    await ledger.claim(caller, first)
    async with unchanged(ledger, first):
        (again,) = await ledger.store.create_todos(
            ledger.workspace_id, [new_todo(ledger.clock, "other", key="pr-7")], ledger.owner
        )
    assert (again.created, again.todo.id) == (False, first)


async def test_a_finished_todo_frees_its_key(ledger: Ledger) -> None:
    caller = await ledger.vend()
    first = await ledger.add_one(new_todo(ledger.clock, key="pr-7"))
    _, token = await ledger.claim(caller, first)
    changed(await ledger.store.complete_if_held(caller, first, token, None, None))
    assert await ledger.add_one(new_todo(ledger.clock, key="pr-7")) != first


async def test_queues_and_key_spaces_keep_their_keys_apart(ledger: Ledger) -> None:
    todos = [
        new_todo(ledger.clock, key="pr-7"),
        new_todo(ledger.clock, key="pr-7", queue="builds"),
        new_todo(ledger.clock, key="pr-7", key_space="agent"),
    ]
    answers = await ledger.store.create_todos(ledger.workspace_id, todos, ledger.owner)
    assert all(one.created for one in answers)


async def test_retrying_a_dead_letter_whose_key_was_taken_changes_nothing(ledger: Ledger) -> None:
    caller = await ledger.vend()
    dead = await ledger.add_one(new_todo(ledger.clock, key="pr-7"))
    _, token = await ledger.claim(caller, dead)
    changed(await ledger.store.fail_if_held(caller, dead, token, "bad", None, False))
    heir = await ledger.add_one(new_todo(ledger.clock, key="pr-7"))
    async with unchanged(ledger, dead, heir):
        answer = await ledger.store.retry_if_failed(ledger.workspace_id, dead, ledger.owner)
        assert not hasattr(answer, "todo"), answer
