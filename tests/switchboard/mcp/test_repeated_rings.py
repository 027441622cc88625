"""Rings that are repeated, held back, spread over a pool, or made when a stream opens."""

from __future__ import annotations

import pytest

from switchboard.domain.todo import TodoId
from tests.builders import QUEUE
from tests.switchboard.mcp.agent import Agent, Stream
from tests.switchboard.mcp.hearing import assert_silent, content, heard, rings, streams_of
from tests.switchboard.mcp.serving import Surface, until

REPEATED_AFTER_MS = (300_000, 1_200_000, 3_600_000, 21_600_000, 21_600_000)


async def pass_after(surface: Surface, ms: int) -> None:
    """Let time go by, then look once at what must be rung again."""
    surface.clock.advance(ms)
    await surface.app.bells.ring_again()


# Unclaimed work


async def test_unclaimed_work_is_rung_again_five_times_and_then_left_to_whoever_asks(
    surface: Surface,
) -> None:
    async with streams_of(await surface.agent()) as (stream,):
        todo_id = await surface.add()
        assert await heard(stream) == todo_id
        for after_ms in REPEATED_AFTER_MS:
            await pass_after(surface, after_ms - 1)
            await assert_silent(surface, stream)
            await pass_after(surface, 1)
            assert await heard(stream) == todo_id
        await surface.settled()
        assert (await surface.todo(todo_id)).rings == 6
        await pass_after(surface, 10 * 21_600_000)
        await assert_silent(surface, stream)


async def test_a_claim_begins_the_count_anew(surface: Surface) -> None:
    worker = await surface.agent()
    async with streams_of(await surface.agent()) as (stream,):
        todo_id = await surface.add()
        await heard(stream)
        await pass_after(surface, 300_000)
        assert await heard(stream) == todo_id
        assert (await surface.todo(todo_id)).rings == 2
        lease = await worker.done("claim")
        assert (await surface.todo(todo_id)).rings == 0
        await pass_after(surface, 1_000)
        await worker.done("fail", id=todo_id, lease_token=lease["lease_token"])
        surface.clock.advance(40_000)
        await surface.upkeep.ring_due()
        assert await heard(stream) == todo_id
        await pass_after(surface, 300_000)
        assert await heard(stream) == todo_id


async def test_taken_work_is_not_rung_again(surface: Surface) -> None:
    worker = await surface.agent()
    async with streams_of(await surface.agent()) as (stream,):
        await surface.add()
        await heard(stream)
        await worker.done("claim", lease_seconds=3_600)
        await pass_after(surface, 300_000)
        await assert_silent(surface, stream)


async def test_a_repetition_that_nobody_listens_to_is_not_counted_and_comes_later(
    surface: Surface,
) -> None:
    agent, other = await surface.agent(), await surface.agent("deploys")
    async with other.stream():
        async with agent.stream() as stream:
            todo_id = await surface.add()
            await heard(stream)
            await surface.settled()  # counted, before the stream goes
        endpoint_id = (await surface.endpoint(agent)).id
        await until(lambda: surface.app.bells.streams_of(endpoint_id) == 0)
        await pass_after(surface, 300_000)
        assert (await surface.todo(todo_id)).rings == 1
        async with agent.stream() as stream:
            assert await heard(stream) == todo_id, "it hears of it as it opens"
            await surface.settled()
            await pass_after(surface, 1_200_000)
            assert await heard(stream) == todo_id
    assert (await surface.todo(todo_id)).rings == 3


async def test_a_queue_that_nobody_works_on_does_not_hold_up_the_repetitions_of_another(
    surface: Surface,
) -> None:
    async with streams_of(await surface.agent("abandoned"), await surface.agent()) as (
        swamped,
        stream,
    ):
        for _ in range(60):
            await surface.add(queue="abandoned")
        todo_id = await surface.add()
        assert await heard(stream) == todo_id
        await surface.settled()
        await pass_after(surface, 300_000)  # one pass rings fewer todos than are due
        assert await heard(stream) == todo_id
        assert await heard(swamped)


async def test_the_owner_sees_how_often_work_was_rung_and_never_claimed(surface: Surface) -> None:
    async with streams_of(await surface.agent()) as (stream,):
        todo_id = await surface.add()
        await heard(stream)
        await surface.settled()
        todo = await surface.todo(todo_id)
        assert (todo.rings, todo.attempt) == (1, 0)


# Storms


async def test_a_storm_is_cut_to_a_burst_and_the_next_ring_tells_of_the_rest(
    surface: Surface,
) -> None:
    async with streams_of(await surface.agent()) as (stream,):
        await surface.add_alike(14)
        for number in range(10):
            text = await content(stream)
            assert f"number {number}." in text
            assert "more waiting" not in text
        await surface.settled()
        await pass_after(surface, 9_999)
        await assert_silent(surface, stream)
        await pass_after(surface, 1)
        text = await content(stream)
        assert any(f"number {number}." in text for number in range(10, 14))
        assert text.endswith("(+3 more waiting)")
        surface.clock.advance(10_000)
        await surface.add("the last")
        assert "the last" in await content(stream)


async def test_work_that_comes_after_a_storm_tells_of_what_it_has_held_back(
    surface: Surface,
) -> None:
    async with streams_of(await surface.agent()) as (stream,):
        await surface.add_alike(12)
        for _ in range(10):
            await heard(stream)
        await surface.settled()
        surface.clock.advance(10_000)
        await surface.add("the next")
        text = await content(stream)
        assert "the next" in text or "number 1" in text  # a pass may come first
        assert "more waiting)" in text


async def test_a_storm_in_which_all_was_taken_is_told_of_to_nobody(surface: Surface) -> None:
    worker = await surface.agent()
    async with streams_of(await surface.agent()) as (stream,):
        await surface.add_alike(12)
        for _ in range(10):
            await heard(stream)
        for _ in range(12):
            await worker.done("claim")
        await pass_after(surface, 10_000)
        await assert_silent(surface, stream)


async def test_each_endpoint_has_a_burst_of_its_own(surface: Surface) -> None:
    async with streams_of(await surface.agent(), await surface.agent("deploys")) as (one, two):
        await surface.add_alike(12)
        assert await surface.add(queue="deploys") == await heard(two)
        assert await heard(one)


# Pools


async def woken_by(surface: Surface, streams: list[Stream], todo_id: TodoId) -> list[int]:
    """Which of the streams were rung for this todo; none may have been rung for anything else."""
    heard_of = [await rings(surface, stream) for stream in streams]
    assert all(ids in ([], [todo_id]) for ids in heard_of), heard_of
    return [index for index, ids in enumerate(heard_of) if ids]


@pytest.fixture
async def pool(surface: Surface) -> list[Agent]:
    """Three endpoints of one queue whose todos wake one endpoint at a time."""
    agents = [await surface.agent() for _ in range(3)]
    await surface.pool()
    return agents


async def test_work_of_a_pool_wakes_one_endpoint_in_turn(
    surface: Surface, pool: list[Agent]
) -> None:
    async with streams_of(*pool) as streams:
        woken: list[int] = []
        for number in range(6):
            todo_id = await surface.add(f"number {number}")
            woken += await woken_by(surface, streams, todo_id)
    assert sorted(woken[:3]) == [0, 1, 2]
    assert woken[3:] == woken[:3]


async def test_a_pool_wakes_those_without_a_lease_first_and_else_somebody(
    surface: Surface, pool: list[Agent]
) -> None:
    for agent in pool[:2]:
        await surface.add()
        await agent.done("claim")
    async with streams_of(*pool) as streams:
        for _ in range(3):
            assert await woken_by(surface, streams, await surface.add()) == [2]
        await pool[2].done("claim")
        assert len(await woken_by(surface, streams, await surface.add())) == 1


async def test_of_a_pool_the_next_one_is_woken_where_a_storm_keeps_the_first_from_it(
    surface: Surface, pool: list[Agent]
) -> None:
    async with streams_of(*pool) as streams:
        await surface.add_alike(32)
        heard_of = [len(await rings(surface, stream)) for stream in streams]
        assert heard_of == [10, 10, 10]


async def test_work_that_one_of_a_pool_leaves_alone_is_told_to_all_after_30_seconds(
    surface: Surface, pool: list[Agent]
) -> None:
    async with streams_of(*pool) as streams:
        todo_id = await surface.add()
        assert len(await woken_by(surface, streams, todo_id)) == 1
        await pass_after(surface, 29_999)
        assert await woken_by(surface, streams, todo_id) == []
        await pass_after(surface, 1)
        assert await woken_by(surface, streams, todo_id) == [0, 1, 2]
        await pass_after(surface, 300_000)
        assert await woken_by(surface, streams, todo_id) == [0, 1, 2], "repeated as anywhere else"


async def test_work_that_one_of_a_pool_takes_is_told_to_nobody_else(
    surface: Surface, pool: list[Agent]
) -> None:
    async with streams_of(*pool) as streams:
        todo_id = await surface.add()
        (woken,) = await woken_by(surface, streams, todo_id)
        await pool[woken].done("claim", id=todo_id)
        await pass_after(surface, 30_000)
        assert await woken_by(surface, streams, todo_id) == []


# A stream that opens


async def test_a_stream_that_opens_hears_of_three_waiting_todos_once_a_minute(
    surface: Surface,
) -> None:
    waiting = [await surface.add(f"number {n}", priority=n) for n in range(5)]
    agent = await surface.agent()
    best = waiting[:1:-1]
    async with agent.stream() as stream:
        assert [await heard(stream) for _ in range(3)] == best
    surface.clock.advance(59_999)
    async with agent.stream() as stream:
        await surface.settled()
        await assert_silent(surface, stream)
        surface.clock.advance(1)
    async with agent.stream() as stream:
        assert await heard(stream) == best[0]


async def test_what_a_stream_does_not_hear_as_it_opens_it_hears_five_minutes_later(
    surface: Surface,
) -> None:
    waiting = [await surface.add(f"number {n}", priority=n) for n in range(5)]
    async with streams_of(await surface.agent()) as (stream,):
        assert await rings(surface, stream) == waiting[:1:-1]
        await pass_after(surface, 300_000)
        assert set(await rings(surface, stream)) == set(waiting)


async def test_a_stream_that_opens_hears_of_work_whose_repetitions_are_spent(
    surface: Surface,
) -> None:
    agent = await surface.agent()
    async with agent.stream() as stream:
        todo_id = await surface.add()
        for after_ms in (0, *REPEATED_AFTER_MS):
            await pass_after(surface, after_ms)
            await heard(stream)
        await pass_after(surface, 10 * 21_600_000)
        await assert_silent(surface, stream)
    async with agent.stream() as stream:
        assert await heard(stream) == todo_id


async def test_what_a_stream_hears_as_it_opens_is_repeated_like_any_other_ring(
    surface: Surface,
) -> None:
    todo_id = await surface.add(queue=QUEUE)
    async with streams_of(await surface.agent()) as (stream,):
        assert await heard(stream) == todo_id
        await surface.settled()
        await pass_after(surface, 300_000)
        assert await heard(stream) == todo_id


async def test_a_stream_that_opens_hears_nothing_of_what_may_not_ring(surface: Surface) -> None:
    await surface.add(by_person=False)
    await surface.add(delay_ms=1)
    assigned = await surface.agent()
    await surface.add(assignee_id=(await surface.endpoint(assigned)).id)
    await surface.add(queue="deploys")
    await surface.pause(queue="deploys")
    async with streams_of(await surface.agent(QUEUE, "deploys")) as (stream,):
        await assert_silent(surface, stream)
