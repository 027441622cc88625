"""Lists and their pages, `claimable`, founding, operator tokens."""

from __future__ import annotations

from switchboard.domain.credential import hash_secret
from switchboard.domain.todo import State
from switchboard.domain.workspace import Role
from switchboard.records import TodoFilter
from tests.builders import LEASE_MS, QUEUE, Ledger, new_founding, new_todo
from tests.clocks import FakeClock
from tests.store_contract.outcomes import changed


async def test_pages_are_newest_first_and_join_without_gap(
    ledger: Ledger, clock: FakeClock
) -> None:
    caller = await ledger.vend()
    ids = list[str]()
    for n in range(7):
        ids.append(await ledger.add_one(new_todo(clock, f"todo {n}")))
        clock.advance(1)
    seen: list[str] = []
    before = None
    while True:
        wanted = TodoFilter(queues=(QUEUE,), limit=3, before_id=before)
        rows = list(await ledger.store.list_in_scope(caller, wanted))
        assert len(rows) <= 4
        seen += [row.todo.id for row in rows[:3]]
        if len(rows) <= 3:
            break
        before = rows[2].todo.id
    assert seen == ids[::-1]


async def test_rows_carry_no_payload_and_say_how_long_it_is(ledger: Ledger) -> None:
    caller = await ledger.vend()
    await ledger.add_one(new_todo(ledger.clock, payload_json='{"pr":7}'))
    (row,) = await ledger.store.list_in_scope(caller, TodoFilter(queues=(QUEUE,)))
    assert (row.todo.payload_json, row.todo.payload_bytes) == (None, 8)


async def test_claimable_is_what_a_claim_by_id_would_say(ledger: Ledger, clock: FakeClock) -> None:
    caller, other = await ledger.vend("one"), await ledger.vend("two")
    ready = await ledger.add_one()
    later = await ledger.add_one(new_todo(clock, delay_ms=LEASE_MS * 9))
    assigned = await ledger.add_one(new_todo(clock, assignee_id=other.endpoint_id))
    held = await ledger.add_one()
    await ledger.claim(other, held)

    async def claimable() -> set[str]:
        rows = await ledger.store.list_in_scope(caller, TodoFilter(queues=(QUEUE,)))
        assert {row.todo.id for row in rows} == {ready, later, assigned, held}
        return {row.todo.id for row in rows if row.claimable}

    assert await claimable() == {ready}
    clock.advance(LEASE_MS + 1)
    assert await claimable() == {ready, held}
    await ledger.store.set_queue_paused(ledger.workspace_id, QUEUE, True, ledger.owner)
    assert await claimable() == set()


async def test_a_list_shows_the_states_that_were_asked_for(ledger: Ledger) -> None:
    live, dead = await ledger.add(new_todo(ledger.clock), new_todo(ledger.clock))
    changed(await ledger.store.cancel_if_live(ledger.workspace_id, dead, ledger.owner))
    for states, expected in (((State.PENDING,), live), ((State.CANCELLED,), dead)):
        rows = await ledger.store.list_todos(ledger.workspace_id, TodoFilter(states=states))
        assert [row.todo.id for row in rows] == [expected]


async def test_a_ledger_is_founded_once(ledger: Ledger, clock: FakeClock) -> None:
    second = new_founding(clock, "intruder", "sbo_second")
    assert not await ledger.store.found_if_empty(second)
    assert await ledger.store.workspace(second.workspace_id) is None
    assert await ledger.store.operator_by_token(hash_secret("sbo_second")) is None


async def test_the_local_token_opens_until_it_is_replaced(ledger: Ledger) -> None:
    operator = await ledger.store.operator_by_token(hash_secret("sbo_local"))
    assert operator is not None
    assert (operator.workspace_id, operator.role) == (ledger.workspace_id, Role.OWNER)
    await ledger.store.replace_local_token(operator.token_id, hash_secret("sbo_new"))
    assert await ledger.store.operator_by_token(hash_secret("sbo_local")) is None
    assert await ledger.store.operator_by_token(hash_secret("sbo_new")) is not None


async def test_coming_due_is_reported_once_for_its_span(ledger: Ledger, clock: FakeClock) -> None:
    start = clock.now_ms()
    todo_id = await ledger.add_one(new_todo(clock, delay_ms=60_000))
    assert list((await ledger.store.became_ready(start, 10))[0]) == []
    clock.advance(60_000)
    due, until_ms = await ledger.store.became_ready(start, 10)
    assert ([todo.id for todo in due], until_ms) == ([todo_id], clock.now_ms())
    assert list((await ledger.store.became_ready(until_ms, 10))[0]) == []


async def test_only_what_time_made_ready_came_due(ledger: Ledger, clock: FakeClock) -> None:
    start = clock.now_ms()
    caller = await ledger.vend()
    clock.advance(1_000)
    await ledger.add_one()
    released = await ledger.add_one()
    _, token = await ledger.claim(caller, released)
    clock.advance(1_000)
    await ledger.store.release_if_held(caller, released, token, 0)
    assert list((await ledger.store.became_ready(start, 10))[0]) == []


async def test_the_ready_todos_of_a_queue_come_best_first(ledger: Ledger, clock: FakeClock) -> None:
    plain, held, later, better, _ = await ledger.add(
        new_todo(clock),
        new_todo(clock),
        new_todo(clock, delay_ms=60_000),
        new_todo(clock, priority=5),
        new_todo(clock, queue="deploys"),
    )
    await ledger.claim(await ledger.vend(), held)
    ready = await ledger.store.ready_in_queue(ledger.workspace_id, "reviews", 10)
    assert [todo.id for todo in ready] == [better, plain]
    assert later not in {todo.id for todo in ready}
    first = await ledger.store.ready_in_queue(ledger.workspace_id, "reviews", 1)
    assert [todo.id for todo in first] == [better]
