"""A second credential on the wire: what the old one opened ends with it, and nothing else does."""

from __future__ import annotations

import asyncio
import time

import pytest

from switchboard.domain.endpoint import EndpointId
from switchboard.domain.todo import State
from switchboard.notifier import Signal
from switchboard.records import NewCredential, Session
from switchboard.service.endpoints import NewKey
from tests.agent_transport.mcp.wire_client import read_head
from tests.builders import new_id
from tests.switchboard.mcp.agent import Agent
from tests.switchboard.mcp.serving import Surface, until
from tests.switchboard.mcp.test_listening import BELL, acknowledged, listening, modern_bytes

AT_ONCE_S = 1.0
OVERLAP_MS = 600_000


async def rotated(surface: Surface, agent: Agent, overlap_ms: int = 0) -> Agent:
    """The same agent with its new credential, in the same session."""
    key = await surface.desk.rotate(surface.ledger.workspace_id, agent.slug, overlap_ms)
    assert isinstance(key, NewKey), key
    assert key.credential not in repr(key)
    return Agent(agent.port, agent.slug, key.credential, session=agent.session)


async def test_the_old_credential_gets_401_and_the_new_one_takes_up_its_session(
    surface: Surface,
) -> None:
    old = await surface.agent()
    todo_id = await surface.add()
    claimed = await old.done("claim")
    new = await rotated(surface, old)
    assert (await old.post("ping")).status == 401
    done = await new.done("complete", id=todo_id, lease_token=claimed["lease_token"])
    assert done["state"] == "done"


async def test_stream_and_waiting_claim_of_the_old_credential_end_within_a_second(
    surface: Surface,
) -> None:
    old = await surface.agent()
    async with old.stream() as stream:
        waiting = asyncio.create_task(old.call("claim", wait_seconds=25))
        await until(lambda: len(surface.waiting) == 1)
        began = time.monotonic()
        new = await rotated(surface, old)
        await stream.until_end(AT_ONCE_S)
        answer = await waiting
        assert time.monotonic() - began < AT_ONCE_S
        assert (answer.status, answer.body) == (401, b"")
    async with new.stream() as stream:
        todo_id = await surface.add()
        assert (await stream.next_message())["params"]["meta"]["todo_id"] == todo_id


async def test_what_the_old_credential_opened_goes_on_through_the_overlap_and_then_ends(
    surface: Surface,
) -> None:
    old = await surface.agent()
    async with old.stream() as first:
        new = await rotated(surface, old, OVERLAP_MS)
        await new.initialize()
        async with new.stream() as second:
            waiting = asyncio.create_task(old.call("claim", wait_seconds=25))
            await until(lambda: len(surface.waiting) == 1)
            surface.clock.advance(OVERLAP_MS - 1)
            await surface.upkeep.expire()
            assert (await old.post("ping")).status == 200
            surface.clock.advance(1)
            assert (await old.post("ping")).status == 401, "by the time alone"
            await surface.upkeep.expire()
            await first.until_end(AT_ONCE_S)
            assert (await waiting).status == 401
            todo_id = await surface.add()
            rung = await second.next_message()
            assert rung["params"]["meta"]["todo_id"] == todo_id
            assert (await new.post("ping")).status == 200


@pytest.mark.parametrize("end", ["rotate", "revoke", "rotate, and the signal is lost"])
async def test_a_request_whose_credential_ends_while_its_body_comes_runs_nothing(
    surface: Surface, end: str
) -> None:
    agent, todo_id = await surface.agent(), await surface.add()
    raw = agent.bytes_of_call("claim", id=todo_id)
    reader, writer = await asyncio.open_connection("127.0.0.1", agent.port)
    try:
        endpoint = await surface.endpoint(agent)
        stamped = surface.app.last_seen.at_ms(endpoint.id)
        surface.clock.advance(5)
        writer.write(raw[:-1])
        await until(lambda: surface.app.last_seen.at_ms(endpoint.id) != stamped)
        if end == "rotate":
            await rotated(surface, agent)
        elif end == "revoke":
            await surface.revoke(agent)
        else:
            await surface.store.rotate_credential_if_active(
                surface.ledger.workspace_id,
                agent.slug,
                NewCredential(new_id("cr", surface.clock), bytes(32), "sbk_AAAA"),
                0,
            )
        writer.write(raw[-1:])
        status, headers = await read_head(reader)
        assert (status, headers["content-length"]) == (401, "0")
    finally:
        writer.close()
    todo = await surface.todo(todo_id)
    assert (todo.state, todo.attempt) == (State.PENDING, 0)


async def test_both_credentials_share_one_bucket_and_one_last_seen(surface: Surface) -> None:
    old = await surface.agent()
    new = await rotated(surface, old, OVERLAP_MS)
    endpoint = await surface.endpoint(new)
    surface.clock.advance(1_000)
    assert (await new.post("ping")).status == 200
    assert surface.app.last_seen.at_ms(endpoint.id) == surface.clock.now_ms()


async def test_an_old_credential_opens_no_stream_that_nobody_would_end(surface: Surface) -> None:
    agent = await surface.agent()
    find, looking, go_on = surface.store.session, asyncio.Event(), asyncio.Event()

    async def find_late(endpoint_id: EndpointId, session_id: str) -> Session | None:
        looking.set()
        await go_on.wait()
        return await find(endpoint_id, session_id)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(surface.store, "session", find_late)
        asking = asyncio.create_task(agent.verb("GET"))
        await looking.wait()
        await rotated(surface, agent)
        go_on.set()
        assert (await asking).status == 401


async def test_a_subscription_belongs_to_the_credential_that_asked_for_it(
    surface: Surface,
) -> None:
    old = await surface.vend()
    async with listening(old, BELL) as first:
        await acknowledged(first)
        new = await rotated(surface, old, OVERLAP_MS)
        async with listening(new, BELL) as second:
            await acknowledged(second)
            await rotated(surface, new)
            await first.until_end(AT_ONCE_S)
            await second.until_end(AT_ONCE_S)
        assert (await new.send(modern_bytes(new, "tools/list", {}))).status == 401


async def test_a_rotation_with_overlap_ends_only_what_the_credential_before_last_opened(
    surface: Surface,
) -> None:
    oldest = await surface.agent()
    async with oldest.stream() as first:
        old = await rotated(surface, oldest, OVERLAP_MS)
        await old.initialize()
        async with old.stream() as second:
            await rotated(surface, old, OVERLAP_MS)
            await first.until_end(AT_ONCE_S)
            todo_id = await surface.add()
            assert (await second.next_message())["params"]["meta"]["todo_id"] == todo_id


@pytest.mark.parametrize("lost", ["rotation", "revocation", "expiry"])
async def test_what_no_signal_told_of_is_cut_by_the_next_look_at_the_ledger(
    surface: Surface, lost: str
) -> None:
    agent = await surface.vend(lifetime_ms=60_000)
    await agent.initialize()
    peer = await surface.agent()
    async with agent.stream() as stream, listening(agent, BELL) as modern, peer.stream():
        await acknowledged(modern)
        waiting = asyncio.create_task(agent.call("claim", wait_seconds=25))
        still = asyncio.create_task(peer.call("claim", wait_seconds=25))
        await until(lambda: len(surface.waiting) == 2)
        await surface.app.cut_ended()
        assert len(surface.waiting) == 2, "nothing has ended yet"
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(surface.notifier, "publish", _lose)
            if lost == "rotation":
                await rotated(surface, agent)
            elif lost == "revocation":
                await surface.revoke(agent)
            else:
                surface.clock.advance(60_000)
        await surface.app.cut_ended()
        await stream.until_end(AT_ONCE_S)
        await modern.until_end(AT_ONCE_S)
        assert (await waiting).status == 401
        assert len(surface.waiting) == 1
        todo_id = await surface.add()
        assert (await still).json["result"]["structuredContent"]["id"] == todo_id


def _lose(signal: Signal) -> None:
    """What a notifier does that tells nobody."""
