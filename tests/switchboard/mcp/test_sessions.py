"""Sessions: rows that outlive a process, whose turn it is, how they end, how many there may be."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Generator
from pathlib import Path

import pytest

from switchboard.mcp.sessions import SESSIONS_PER_ENDPOINT
from switchboard.stores.sqlite import SqliteStore
from tests.agent_transport.mcp.wire_client import Answer, request_bytes
from tests.specification import requirement
from tests.switchboard.mcp.agent import Agent
from tests.switchboard.mcp.hearing import assert_silent, heard, rings, streams_of
from tests.switchboard.mcp.moments import until_waiting
from tests.switchboard.mcp.serving import Surface, serving, until

DAY_MS = 86_400_000


def other_session(agent: Agent) -> Agent:
    """Another client of the same endpoint, before its handshake."""
    return Agent(agent.port, agent.slug, agent.credential)


def without_id(answer: Answer) -> dict[str, object]:
    return {name: value for name, value in answer.json.items() if name != "id"}


async def test_a_session_is_a_row_that_any_process_can_serve(surface: Surface) -> None:
    agent = await surface.agent()
    endpoint_id = (await surface.endpoint(agent)).id
    assert agent.session is not None
    row = await surface.store.session(endpoint_id, agent.session)
    assert row is not None
    assert row.protocol_version == "2025-11-25"
    assert row.client_info_json == '{"name":"raw","version":"1"}'
    again = SqliteStore(surface.path, clock=surface.clock)
    await again.start()
    try:
        assert await again.session(endpoint_id, agent.session) == row
    finally:
        await again.stop()


async def test_a_foreign_an_ended_and_an_unknown_session_are_answered_alike(
    surface: Surface,
) -> None:
    agent, stranger = await surface.agent(), await surface.agent()
    ended = other_session(agent)
    await ended.initialize()
    assert (await ended.verb("DELETE")).status == 204
    answers: list[Answer] = []
    for session in (stranger.session, ended.session, "0" * 64, "no session"):
        agent.session = session
        for method in ("GET", "DELETE"):
            assert (await agent.verb(method)).status == 404
        answers.append(await agent.post("ping"))
    assert {answer.status for answer in answers} == {404}
    assert all(without_id(answer) == without_id(answers[0]) for answer in answers)
    assert (await stranger.post("ping")).status == 200


async def test_a_handshake_with_a_session_that_ended_opens_a_new_one(surface: Surface) -> None:
    agent = await surface.agent()
    old = agent.session
    await agent.verb("DELETE")
    await agent.initialize()
    assert agent.session != old
    assert (await agent.post("ping")).status == 200


@requirement("SPEC-0014/routes/delete")
async def test_deleting_a_session_ends_its_stream_and_its_waiting_claim(surface: Surface) -> None:
    agent = await surface.agent()
    async with agent.stream() as stream:
        waiting = asyncio.create_task(agent.call("claim", wait_seconds=25))
        await until_waiting(surface)
        assert (await agent.verb("DELETE")).status == 204
        await stream.until_end(1.0)
        assert (await waiting).status == 200
    assert len(surface.waiting) == 0


async def test_an_agent_that_shakes_hands_again_is_rung_once_and_on_its_new_stream(
    surface: Surface,
) -> None:
    old = await surface.agent()
    new = other_session(old)
    async with old.stream() as left_behind:
        await new.initialize()
        async with new.stream() as stream:
            todo_id = await surface.add()
            assert await heard(stream) == todo_id
            await assert_silent(surface, left_behind, stream)


async def test_sessions_that_spoke_lately_are_rung_in_turn(surface: Surface) -> None:
    one = await surface.agent()
    two, three = other_session(one), other_session(one)
    await two.initialize()
    await three.initialize()
    async with streams_of(one, two, three) as streams:
        told: list[int] = []
        for _ in range(6):
            todo_id = await surface.add()
            heard_of = [await rings(surface, stream) for stream in streams]
            assert sorted(heard_of) == [[], [], [todo_id]]
            told.append(heard_of.index([todo_id]))
    assert told == [2, 1, 0, 2, 1, 0]


async def test_sessions_that_spoke_lately_go_before_newer_silent_ones_and_the_newest_before_all(
    surface: Surface,
) -> None:
    old = await surface.agent()
    new = other_session(old)
    await new.initialize()
    async with streams_of(old, new) as (older, newer):
        surface.clock.advance(600_000)
        await old.post("ping")
        for _ in range(3):
            todo_id = await surface.add()
            assert await rings(surface, older) == [todo_id]
        await assert_silent(surface, newer)
        surface.clock.advance(600_000)
        for _ in range(3):
            todo_id = await surface.add()
            assert await rings(surface, newer) == [todo_id]
        await assert_silent(surface, older)


# How many


async def test_beyond_256_sessions_the_longest_idle_one_without_a_stream_ends(
    surface: Surface,
) -> None:
    listening = await surface.agent()
    idle = other_session(listening)
    await idle.initialize()
    async with listening.stream() as stream:
        surface.clock.advance(1_000)
        for _ in range(SESSIONS_PER_ENDPOINT - 2):
            await other_session(listening).initialize()
        assert (await idle.post("ping")).status == 200
        idle_since = surface.clock.now_ms()
        assert surface.app.sessions.spoke_at(idle.session or "") == idle_since
        surface.clock.advance(1_000)
        await other_session(listening).initialize()
        assert (await idle.post("ping")).status == 404
        todo_id = await surface.add()
        assert await heard(stream) == todo_id
        assert (await listening.post("ping")).status == 200


async def test_an_endpoint_has_32_streams_and_the_next_one_is_refused(surface: Surface) -> None:
    agents = [await surface.agent()]
    for _ in range(32):
        agents.append(other_session(agents[0]))
        await agents[-1].initialize()
    async with streams_of(*agents[:32]) as streams:
        refused = await agents[32].verb("GET")
        assert (refused.status, refused.body) == (429, b"")
        assert int(refused.headers["retry-after"]) >= 1
        async with agents[0].stream():  # replaces its own: no stream too many
            await streams[0].until_end(1.0)
    async with (await surface.agent()).stream():
        pass


async def test_an_endpoint_has_64_calls_in_flight_and_the_next_one_is_refused(
    surface: Surface,
) -> None:
    agent, peer = await surface.agent(), await surface.agent()
    async with asyncio.TaskGroup() as calls:
        waiting = [calls.create_task(agent.done("claim", wait_seconds=25)) for _ in range(64)]
        await until_waiting(surface, 64)
        refused = await agent.call("list_todos")
        assert (refused.status, refused.body) == (429, b"")
        assert int(refused.headers["retry-after"]) >= 1
        assert await peer.done("list_todos") == {"todos": []}
        surface.app.drain()
    assert all(one.result()["empty"] for one in waiting)


# How they end


async def test_a_session_that_nobody_used_for_a_day_is_ended(surface: Surface) -> None:
    idle, used = await surface.agent(), await surface.agent()
    surface.clock.advance(DAY_MS - 1)
    assert (await used.post("ping")).status == 200
    surface.clock.advance(1)
    await surface.upkeep.close_idle()
    assert (await idle.post("ping")).status == 404
    assert (await used.post("ping")).status == 200, "its use was not written yet, and counts"


async def test_an_open_stream_is_use(surface: Surface) -> None:
    agent = await surface.agent()
    async with agent.stream() as stream:
        surface.clock.advance(2 * DAY_MS)
        await surface.upkeep.close_idle()
        todo_id = await surface.add()
        assert await heard(stream) == todo_id
        assert (await agent.post("ping")).status == 200


@requirement("SPEC-0014/concurrency/stream-ends-on-disconnect")
async def test_a_second_stream_of_a_session_replaces_the_first_and_alone_is_rung(
    surface: Surface,
) -> None:
    agent = await surface.agent()
    endpoint_id = (await surface.endpoint(agent)).id
    async with agent.stream() as first, agent.stream() as second:
        assert await first.until_end(1.0) == b""
        await until(lambda: surface.app.bells.streams_of(endpoint_id) == 1)
        todo_id = await surface.add()
        assert await rings(surface, second) == [todo_id]


# Slow readers


@contextlib.contextmanager
def deaf_stream(agent: Agent) -> Generator[None]:
    """A stream whose client reads nothing, not even into its own memory."""
    peer = socket.socket()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    peer.connect(("127.0.0.1", agent.port))
    with contextlib.closing(peer):
        peer.sendall(request_bytes("GET", b"", agent.headers(), agent.path))
        yield


@requirement("SPEC-0014/push/only-a-hint")
async def test_a_stream_that_loses_three_rings_in_a_row_is_warned_of_once_by_its_session(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(tmp_path, send_buffer_bytes=4_096) as surface:
        agent, peer = await surface.agent(), await surface.agent()
        deaf_id = (await surface.endpoint(agent)).id
        workspace_id, owner = surface.ledger.workspace_id, surface.ledger.owner
        with deaf_stream(agent):
            await until(lambda: surface.app.bells.streams_of(deaf_id) == 1)
            async with peer.stream() as stream:
                for number in range(300):
                    surface.clock.advance(10_000)
                    todo_id = await surface.add(f"{number} " + "x" * 190)
                    assert await heard(stream) == todo_id
                    await surface.todos.cancel(workspace_id, todo_id, owner)
    warned = [one for one in caplog.records if one.getMessage() == "doorbells_not_taken"]
    assert [one.levelno for one in warned] == [logging.WARNING]
    told = vars(warned[0])
    assert (told["slug"], told["session"]) == (agent.slug, (agent.session or "")[:8])
