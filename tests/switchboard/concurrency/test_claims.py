"""Claims, ends of claims, cut sockets, passing time and revocations, all at the same time."""

from __future__ import annotations

import asyncio

import pytest

from switchboard.domain.endpoint import Verb
from switchboard.domain.todo import Outcome, State
from tests.specification import requirement
from tests.switchboard.concurrency.crowd import (
    Book,
    cancel_claims,
    chance,
    cut_claims,
    keep_time,
    outcome,
    revoke_in_the_middle,
    work_until_done,
)
from tests.switchboard.mcp.agent import Agent
from tests.switchboard.mcp.moments import until_waiting
from tests.switchboard.mcp.serving import Surface, until

WORKERS = 4
TODOS = 10

pytestmark = pytest.mark.concurrency


async def crew(surface: Surface, size: int) -> list[Agent]:
    return [await surface.agent(verbs=tuple(Verb)) for _ in range(size)]


@requirement("SPEC-0014/concurrency/race-detection", "SPEC-0014/concurrency/shared-state-safe")
async def test_no_todo_is_held_twice_done_twice_or_lost(surface: Surface) -> None:
    agents = await crew(surface, WORKERS)
    added = await surface.add_alike(TODOS, max_attempts=100, max_lapses=100)
    book, done = Book(), asyncio.Event()
    async with asyncio.timeout(60), asyncio.TaskGroup() as everybody:
        everybody.create_task(keep_time(surface, done))
        async with asyncio.TaskGroup() as work:
            for salt, agent in enumerate(agents):
                work.create_task(work_until_done(surface, agent, book, salt))
            work.create_task(cut_claims(surface, agents[0], 10))
            work.create_task(cancel_claims(await surface.agent(), 10))
            work.create_task(revoke_in_the_middle(surface, agents[-1], book))
        done.set()
    book.assert_no_double_work(revoked=agents[-1].slug)
    for todo_id in added:
        history = await surface.store.todo(surface.ledger.workspace_id, todo_id)
        assert history is not None
        assert history.todo.state is State.DONE
        ended_by = {attempt.outcome: attempt.holder_name for attempt in history.attempts}
        assert [attempt.outcome for attempt in history.attempts].count(Outcome.DONE) == 1
        assert None not in ended_by
        # The revoked one is told 401 whatever the ledger had taken by then.
        assert book.completed[todo_id] == 1 or ended_by[Outcome.DONE] == agents[-1].slug
    assert len(surface.waiting) == 0


@requirement("SPEC-0014/concurrency/race-detection", "SPEC-0014/tools/lifecycle-is-the-queues")
async def test_of_agents_that_claim_one_todo_at_once_one_gets_it(surface: Surface) -> None:
    agents = await crew(surface, WORKERS)
    for _ in range(5):
        todo_id = await surface.add()
        answers = await asyncio.gather(*(agent.call("claim", id=todo_id) for agent in agents))
        (winner,) = (one for one in answers if outcome(one) is not None)
        assert (await surface.todo(todo_id)).holder_id
        assert winner.json["result"]["structuredContent"]["attempt"] == 1


@requirement(
    "SPEC-0014/concurrency/race-detection", "SPEC-0014/concurrency/cancellation-reaches-store"
)
async def test_waiting_claims_that_are_cut_cancelled_or_revoked_lose_no_todo(
    surface: Surface,
) -> None:
    stays, cut, cancelled, revoked = await crew(surface, 4)
    dice = chance(0)
    async with asyncio.timeout(60):
        waiting = [asyncio.create_task(stays.done("claim", wait_seconds=25)) for _ in range(4)]
        cancelling = asyncio.create_task(cancelled.call("claim", wait_seconds=25))
        await until_waiting(surface, 5)
        cancelled_id = cancelled.last_id
        revoking = asyncio.create_task(revoked.call("claim", wait_seconds=25))
        _, writer = await asyncio.open_connection("127.0.0.1", surface.port)
        writer.write(cut.bytes_of_call("claim", wait_seconds=25))
        await until_waiting(surface, 7)

        async def end_them() -> None:
            ways = [cancelled.cancel(cancelled_id), surface.revoke(revoked)]
            dice.shuffle(ways)
            writer.transport.abort()
            await asyncio.gather(*ways)

        added, _ = await asyncio.gather(surface.add_alike(7), end_them())
        taken = {(await one)["id"] for one in waiting}
        ended = [outcome(await one) for one in (cancelling, revoking)]
    assert len(taken) == 4
    taken |= {one["id"] for one in ended if one is not None}
    await until(lambda: len(surface.waiting) == 0)
    again = [await stays.done("claim", wait_seconds=10) for _ in range(7 - len(taken))]
    assert {one["id"] for one in again} | taken == set(added)
    assert all(one["attempt"] in (1, 2) for one in again)
