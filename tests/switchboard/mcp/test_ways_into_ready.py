"""Every way in which a todo becomes ready rings, once, and whoever waits for one comes first."""

from __future__ import annotations

import asyncio
from typing import Any

from switchboard.domain.endpoint import Verb
from switchboard.domain.todo import State
from switchboard.notifier import QueueResumed, Signal, TodoReady
from switchboard.service.endpoints import EndpointDraft, Vended
from tests.builders import QUEUE
from tests.specification import requirement
from tests.switchboard.mcp.agent import Agent
from tests.switchboard.mcp.hearing import assert_silent, heard, streams_of
from tests.switchboard.mcp.moments import until_waiting
from tests.switchboard.mcp.serving import Surface


async def held(worker: Agent, **arguments: Any) -> tuple[str, str]:
    """A todo that the worker holds from now on, and its token."""
    lease = await worker.done("claim", **arguments)
    return lease["id"], lease["lease_token"]


async def all_verbs(surface: Surface) -> Agent:
    return await surface.agent(verbs=tuple(Verb))


@requirement("SPEC-0014/push/doorbell-arrives")
async def test_created_work_rings_once(surface: Surface) -> None:
    async with streams_of(await surface.agent()) as (stream,):
        surface.clock.advance(300)
        todo_id = await surface.add()
        assert await heard(stream) == todo_id
        surface.clock.advance(700)
        await surface.upkeep.ring_due()
        await assert_silent(surface, stream)


async def test_work_that_is_created_again_under_its_key_rings_nobody(surface: Surface) -> None:
    async with streams_of(await surface.agent()) as (stream,):
        todo_id = await surface.add(idempotency_key="once")
        assert await heard(stream) == todo_id
        assert await surface.add(idempotency_key="once") == todo_id
        await assert_silent(surface, stream)


async def test_failed_work_rings_when_its_backoff_has_passed(surface: Surface) -> None:
    worker = await surface.agent()
    todo_id = await surface.add()
    await held(worker)
    async with streams_of(await surface.agent()) as (stream,):
        await worker.done("fail", id=todo_id)
        await surface.upkeep.ring_due()
        await assert_silent(surface, stream)
        surface.clock.advance(33_000)
        await surface.upkeep.ring_due()
        assert await heard(stream) == todo_id


async def test_a_dead_letter_that_a_person_retries_rings(surface: Surface) -> None:
    worker = await surface.agent()
    todo_id = await surface.add()
    await held(worker)
    async with streams_of(await surface.agent()) as (stream,):
        await worker.done("fail", id=todo_id, retry=False)
        await assert_silent(surface, stream)
        await surface.todos.retry(surface.ledger.workspace_id, todo_id, surface.ledger.owner)
        assert await heard(stream) == todo_id


async def test_work_that_a_person_takes_from_its_holder_rings(surface: Surface) -> None:
    worker = await surface.agent()
    todo_id = await surface.add()
    await held(worker)
    async with streams_of(await surface.agent()) as (stream,):
        await surface.todos.release(surface.ledger.workspace_id, todo_id, surface.ledger.owner)
        assert await heard(stream) == todo_id


async def test_released_work_rings_everybody_but_the_one_that_released_it_for_five_minutes(
    surface: Surface,
) -> None:
    releaser = await all_verbs(surface)
    todo_id = await surface.add()
    await held(releaser)
    async with streams_of(releaser, await surface.agent()) as (own, other):
        await releaser.done("release", id=todo_id)
        assert await heard(other) == todo_id
        await assert_silent(surface, own, other)
        surface.clock.advance(300_000)
        await surface.app.bells.ring_again()
        assert await heard(own) == await heard(other) == todo_id


async def test_work_released_with_a_delay_rings_later_and_not_its_releaser(
    surface: Surface,
) -> None:
    releaser = await all_verbs(surface)
    todo_id = await surface.add()
    await held(releaser)
    async with streams_of(releaser, await surface.agent()) as (own, other):
        await releaser.done("release", id=todo_id, delay_seconds=60)
        await assert_silent(surface, own, other)
        surface.clock.advance(60_000)
        await surface.upkeep.ring_due()
        assert await heard(other) == todo_id
        await assert_silent(surface, own, other)


async def test_work_that_is_assigned_rings_its_assignee_alone(surface: Surface) -> None:
    mine, peer = await surface.agent(), await surface.agent()
    endpoint = await surface.endpoint(mine)
    async with streams_of(mine, peer) as (own, others):
        todo_id = await surface.add(assignee_id=endpoint.id)
        assert await heard(own) == todo_id
        await assert_silent(surface, own, others)


async def test_work_that_moves_to_an_heir_rings_the_heir_unless_it_is_not_due(
    surface: Surface,
) -> None:
    old = await surface.agent()
    assignee_id = (await surface.endpoint(old)).id
    todo_id = await surface.add(assignee_id=assignee_id)
    await surface.add(assignee_id=assignee_id, delay_ms=60_000)
    draft = EndpointDraft("heir", (QUEUE,))
    workspace_id, owner = surface.ledger.workspace_id, surface.ledger.owner
    async with streams_of(await surface.agent()) as (stranger,):
        heir = await surface.desk.vend(workspace_id, draft, owner, replaces=old.slug)
        assert isinstance(heir, Vended), heir
        agent = Agent(surface.port, heir.endpoint.slug, heir.credential)
        await agent.initialize()
        async with agent.stream() as stream:
            assert await heard(stream) == todo_id
            await assert_silent(surface, stream, stranger)


async def test_work_that_comes_due_rings_once_however_late_it_was_committed(
    surface: Surface,
) -> None:
    async with streams_of(await surface.agent()) as (stream,):
        todo_id = await surface.add(delay_ms=5_000)
        surface.clock.advance(5_000)
        await surface.upkeep.ring_due()
        assert await heard(stream) == todo_id
        looked_at_ms = surface.clock.now_ms()
        surface.clock.at_ms = looked_at_ms - 100  # when its writer began
        late = await surface.add(available_at_ms=looked_at_ms - 50)
        surface.clock.at_ms = looked_at_ms
        await surface.upkeep.ring_due()
        assert await heard(stream) == late
        await surface.upkeep.ring_due()
        await assert_silent(surface, stream)


async def test_a_thousand_todos_that_are_due_at_one_moment_are_all_told_of(
    surface: Surface,
) -> None:
    told: list[Signal] = []
    due_ms = surface.clock.now_ms() + 5_000
    added = await surface.add_alike(1_000, available_at_ms=due_ms)
    surface.clock.advance(5_000)
    surface.notifier.subscribe(told.append)
    await surface.upkeep.ring_due()
    assert {signal.todo.id for signal in told if isinstance(signal, TodoReady)} == set(added)
    assert len(told) == 1_000


async def test_lapsed_work_rings_when_it_is_swept(surface: Surface) -> None:
    worker = await surface.agent()
    todo_id = await surface.add()
    await held(worker, lease_seconds=10)
    async with streams_of(await surface.agent()) as (stream,):
        surface.clock.advance(11_000)
        await surface.upkeep.sweep()
        assert await heard(stream) == todo_id


async def test_all_that_lapsed_at_once_is_swept_and_told_of_in_one_pass(surface: Surface) -> None:
    caller = await surface.ledger.vend()
    added = await surface.add_alike(510)
    for _ in added:
        await surface.store.claim_next_ready(caller, (QUEUE,), 10_000, b"token")
    told: list[Signal] = []
    surface.notifier.subscribe(told.append)
    surface.clock.advance(10_000)
    await surface.upkeep.sweep()
    assert {one.todo.id for one in told if isinstance(one, TodoReady)} == set(added)


async def test_the_work_of_a_revoked_endpoint_rings_the_others(surface: Surface) -> None:
    worker = await surface.agent()
    todo_id = await surface.add()
    await held(worker)
    async with streams_of(await surface.agent()) as (stream,):
        await surface.revoke(worker)
        assert await heard(stream) == todo_id


async def test_a_paused_queue_rings_nobody_until_it_is_resumed(surface: Surface) -> None:
    async with streams_of(await surface.agent(QUEUE, "deploys")) as (stream,):
        await surface.add(queue=QUEUE, title="first")
        await heard(stream)
        await surface.pause()
        quiet = await surface.add("while it is paused")
        elsewhere = await surface.add(queue="deploys")
        assert await heard(stream) == elsewhere
        await surface.pause(paused=False)
        assert {await heard(stream), await heard(stream)} >= {quiet}


async def test_of_a_resumed_queue_a_waiting_claim_takes_the_best_and_the_rest_rings(
    surface: Surface,
) -> None:
    await surface.add()  # a queue comes into being with its first todo
    waiter, listener = await surface.agent(), await surface.agent()
    await held(waiter)
    await surface.pause()
    plain, urgent = await surface.add("plain"), await surface.add("urgent", priority=9)
    waiting = asyncio.create_task(waiter.done("claim", wait_seconds=25))
    await until_waiting(surface)
    async with streams_of(listener) as (stream,):
        await surface.pause(paused=False)
        assert (await waiting)["id"] == urgent
        assert await heard(stream) == plain
        await assert_silent(surface, stream)


async def test_resuming_an_unknown_queue_tells_nothing(surface: Surface) -> None:
    told: list[Signal] = []
    surface.notifier.subscribe(told.append)
    workspace_id, owner = surface.ledger.workspace_id, surface.ledger.owner
    assert await surface.queues.resume(workspace_id, "nowhere", owner) is None
    assert told == []
    await surface.add()
    assert await surface.queues.resume(workspace_id, QUEUE, owner)
    assert told[-1] == QueueResumed(workspace_id, QUEUE)


async def test_a_waiting_claim_is_served_before_anybody_is_rung(surface: Surface) -> None:
    waiter = await surface.agent()
    waiting = asyncio.create_task(waiter.done("claim", wait_seconds=25))
    await until_waiting(surface)
    async with streams_of(await surface.agent()) as (stream,):
        taken = await surface.add("for the one that waits")
        assert (await waiting)["id"] == taken
        await assert_silent(surface, stream)
    assert (await surface.todo(taken)).rings == 0


async def test_a_waiting_claim_that_was_woken_and_found_a_better_todo_passes_the_wake_on(
    surface: Surface,
) -> None:
    waiter = await surface.agent()
    waiting = asyncio.create_task(waiter.done("claim", wait_seconds=25))
    await until_waiting(surface)
    async with streams_of(await surface.agent()) as (stream,):
        plain, urgent = await surface.add_both("plain", "urgent")
        assert (await waiting)["id"] == urgent
        assert {await heard(stream), await heard(stream)} == {plain, urgent}
    assert (await surface.todo(plain)).state is State.PENDING


async def test_work_that_comes_while_a_stream_opens_rings_it_once(surface: Surface) -> None:
    """The opening stream finds in the ledger what it was rung for under way."""
    looked, may_look, real = asyncio.Event(), asyncio.Event(), surface.store.ready_for

    async def look_late(*arguments: Any) -> Any:
        looked.set()
        await may_look.wait()
        return await real(*arguments)

    agent = await surface.agent()
    setattr(surface.store, "ready_for", look_late)  # noqa: B010 - the class declares a method
    async with streams_of(agent) as (stream,):
        await looked.wait()
        todo_id = await surface.add()
        assert await heard(stream) == todo_id
        may_look.set()
        await assert_silent(surface, stream)
