"""How streams, waiting claims and calls end: revocation, expiry, shutdown, a client that left."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from switchboard.domain.todo import State
from tests.agent_transport.mcp.wire_client import read_head
from tests.specification import requirement
from tests.switchboard.mcp.agent import Agent
from tests.switchboard.mcp.moments import (
    cut_off,
    reached,
    until_taken,
    until_waiting,
    writing_is_blocked,
)
from tests.switchboard.mcp.serving import Surface, serving, until

AT_ONCE_S = 1.0


@requirement(
    "SPEC-0014/concurrency/revocation-closes-streams",
    "SPEC-0014/concurrency/stream-ends-on-revocation",
)
async def test_revoking_ends_the_open_stream_at_once_and_then_it_is_401(surface: Surface) -> None:
    agent, peer = await surface.agent(), await surface.agent()
    async with agent.stream() as stream, peer.stream() as other:
        await surface.revoke(agent)
        await stream.until_end(AT_ONCE_S)
        assert (await agent.post("tools/list")).status == 401
        assert (await agent.verb("GET")).status == 401
        todo_id = await surface.add()
        assert (await other.next_message())["params"]["meta"]["todo_id"] == todo_id


async def test_revoking_ends_a_waiting_claim_with_an_empty_401(surface: Surface) -> None:
    agent = await surface.agent()
    waiting = asyncio.create_task(agent.call("claim", wait_seconds=25))
    await until_waiting(surface)
    began = time.monotonic()
    await surface.revoke(agent)
    answer = await waiting
    assert time.monotonic() - began < AT_ONCE_S
    assert (answer.status, answer.body) == (401, b"")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert len(surface.waiting) == 0


async def test_an_endpoint_whose_time_has_come_is_cut_like_a_revoked_one(surface: Surface) -> None:
    agent = await surface.vend(lifetime_ms=60_000)
    await agent.initialize()
    async with agent.stream() as stream:
        surface.clock.advance(60_000)
        assert (await agent.post("ping")).status == 401, "refused before the expirer has run"
        await surface.upkeep.expire()
        await stream.until_end(AT_ONCE_S)


async def test_revoking_gives_held_work_back_without_cost(surface: Surface) -> None:
    todo_id = await surface.add()
    agent, peer = await surface.agent(), await surface.agent()
    await agent.done("claim")
    async with peer.stream() as stream:
        await surface.revoke(agent)
        assert (await stream.next_message())["params"]["meta"]["todo_id"] == todo_id
    todo = await surface.todo(todo_id)
    assert (todo.state, todo.failures, todo.lapses) == (State.PENDING, 0, 0)


@requirement("SPEC-0014/concurrency/stream-ends-on-shutdown")
async def test_a_drain_ends_streams_and_lets_a_waiting_claim_say_empty(tmp_path: Path) -> None:
    async with serving(tmp_path) as surface:
        agent = await surface.agent()
        waiting = asyncio.create_task(agent.done("claim", wait_seconds=25))
        await until_waiting(surface)
        async with agent.stream() as stream:
            began = time.monotonic()
            await surface.listener.stop()
            assert time.monotonic() - began < 5
            await stream.until_end(AT_ONCE_S)
        assert (await waiting)["empty"] is True


@requirement("SPEC-0014/concurrency/stream-ends-on-disconnect")
async def test_a_client_that_leaves_frees_its_stream(surface: Surface) -> None:
    agent = await surface.agent()
    for _ in range(40):  # more than an endpoint may hold open at once
        async with agent.stream():
            pass
    await until(lambda: surface.listener.connections == 0)


async def test_a_second_stream_of_a_session_replaces_the_first(surface: Surface) -> None:
    agent = await surface.agent()
    async with agent.stream() as first, agent.stream() as second:
        await first.until_end(AT_ONCE_S)
        todo_id = await surface.add()
        assert (await second.next_message())["params"]["meta"]["todo_id"] == todo_id


async def test_a_waiting_claim_takes_the_todo_that_comes(surface: Surface) -> None:
    agent = await surface.agent()
    waiting = asyncio.create_task(agent.done("claim", wait_seconds=25))
    await until_waiting(surface)
    listener = await surface.agent()
    async with listener.stream() as stream:
        taken = await surface.add("for the one that waits")
        assert (await waiting)["id"] == taken
        rung = await surface.add("for the one that listens")
        assert (await stream.next_message())["params"]["meta"]["todo_id"] == rung


@requirement("SPEC-0014/concurrency/cancellation-reaches-store")
async def test_a_cut_or_cancelled_claim_stops_waiting_and_takes_nothing(surface: Surface) -> None:
    agent = await surface.agent()
    _, writer = await asyncio.open_connection("127.0.0.1", surface.port)
    writer.write(agent.bytes_of_call("claim", wait_seconds=25))
    await until_waiting(surface)
    writer.close()
    await until_waiting(surface, 0)
    waiting = asyncio.create_task(agent.call("claim", wait_seconds=25))
    await until_waiting(surface)
    assert (await agent.cancel(agent.last_id)).status == 202
    assert "error" in (await waiting).json
    await until_waiting(surface, 0)
    todo_id = await surface.add()
    assert (await surface.todo(todo_id)).state is State.PENDING


async def test_a_claim_whose_socket_is_cut_before_the_answer_is_taken_back(
    surface: Surface,
) -> None:
    agent, other = await surface.agent(), await surface.agent()
    todo_id = await surface.add()
    async with other.stream() as stream:
        await stream.next_message()
        claim = agent.bytes_of_call("claim", id=todo_id)
        await cut_off(surface, claim, "claim_if_ready")
        rung = await stream.next_message()
    assert rung["params"]["meta"]["todo_id"] == todo_id, "ready again, so it rings again"
    todo = await surface.todo(todo_id)
    assert (todo.state, todo.attempt, todo.lapses) == (State.PENDING, 0, 0)
    again = await other.done("claim", id=todo_id)
    assert (again["attempt"], again["prior_attempts"]) == (1, [])
    history = await surface.store.todo(surface.ledger.workspace_id, todo.id)
    assert history is not None
    steps = [event.step.value for event in history.events]
    assert steps == ["create", "claim", "undo_claim", "claim"]


async def test_a_cancelled_call_that_the_writer_has_not_taken_changes_nothing(
    surface: Surface,
) -> None:
    agent = await surface.agent()
    todo_id, other_id = await surface.add(), await surface.add()
    await agent.done("claim", id=todo_id)
    claiming = reached(surface, "claim_if_ready")
    completing = reached(surface, "complete_if_held")
    with writing_is_blocked(surface):
        first = asyncio.create_task(agent.call("claim", id=other_id))
        await claiming.wait()
        await until_taken(surface)  # the claim; the writer waits for the lock
        second = asyncio.create_task(agent.call("complete", id=todo_id))
        await completing.wait()
        assert (await agent.cancel(agent.last_id)).status == 202
        assert "error" in (await second).json
    assert (await first).json["result"]["structuredContent"]["id"] == other_id
    assert (await surface.todo(todo_id)).state is State.CLAIMED


async def test_a_session_survives_while_its_connection_does_not(surface: Surface) -> None:
    agent = await surface.agent()
    reader, writer = await asyncio.open_connection("127.0.0.1", surface.port)
    writer.write(agent.bytes_of("ping"))
    assert (await read_head(reader))[0] == 200
    writer.transport.abort()
    same = Agent(surface.port, agent.slug, agent.credential, session=agent.session)
    assert (await same.post("ping")).status == 200
