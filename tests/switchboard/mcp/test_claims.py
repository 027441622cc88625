"""Claims that wait, are asked for again, end early, and what becomes of work that comes late."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from switchboard.domain.endpoint import Verb
from switchboard.domain.todo import State
from switchboard.errors import StoreUnavailable
from tests.switchboard.mcp.agent import Agent, tool_error
from tests.switchboard.mcp.moments import (
    cut_off,
    reached,
    until_queued,
    until_taken,
    until_waiting,
    writing_is_blocked,
)
from tests.switchboard.mcp.serving import Surface
from tests.switchboard.mcp.test_listening import modern_bytes

EVERY = tuple(Verb)
AT_ONCE_S = 1.0


async def waits(surface: Surface, agent: Agent) -> asyncio.Task[Any]:
    """A claim that waits."""
    before = len(surface.waiting)
    waiting = asyncio.create_task(agent.call("claim", wait_seconds=25))
    await until_waiting(surface, before + 1)
    return waiting


# Ends of a claim that waits; the others stand in test_ends


async def test_a_wait_that_is_over_says_when_to_ask_again(surface: Surface) -> None:
    await surface.add(delay_ms=12_500)
    agent, began = await surface.agent(), time.monotonic()
    empty = await agent.done("claim", wait_seconds=1)
    assert empty == {"empty": True, "retry_after_seconds": 13}
    assert 1 <= time.monotonic() - began < 3
    assert len(surface.waiting) == 0


async def test_a_session_that_is_deleted_takes_its_waiting_claim_along(surface: Surface) -> None:
    agent, peer = await surface.agent(), await surface.agent()
    other = Agent(surface.port, agent.slug, agent.credential)
    await other.initialize()
    ended, stays = await waits(surface, agent), await waits(surface, other)
    assert (await agent.verb("DELETE")).status == 204
    answer = await asyncio.wait_for(ended, AT_ONCE_S)
    assert answer.json["error"]["code"] == -32800
    await until_waiting(surface, 1)
    todo_id = await surface.add()
    assert (await stays).json["result"]["structuredContent"]["id"] == todo_id
    assert (await peer.done("claim"))["empty"] is True


async def test_an_endpoint_that_expires_ends_its_waiting_claim_with_401(surface: Surface) -> None:
    agent = await surface.vend(lifetime_ms=60_000)
    await agent.initialize()
    waiting = await waits(surface, agent)
    surface.clock.advance(60_000)
    await surface.upkeep.expire()
    answer = await asyncio.wait_for(waiting, AT_ONCE_S)
    assert (answer.status, answer.body) == (401, b"")


async def test_a_waiting_claim_by_id_answers_at_once(surface: Surface) -> None:
    todo_id = await surface.add(delay_ms=60_000)
    agent, began = await surface.agent(), time.monotonic()
    assert (await agent.refused("claim", id=todo_id, wait_seconds=25))["reason"] == "not_due"
    assert time.monotonic() - began < AT_ONCE_S


async def test_a_claim_that_was_cancelled_is_passed_over_for_the_next(surface: Surface) -> None:
    gone, stays = await surface.agent(), await surface.agent()
    first, second = await waits(surface, gone), await waits(surface, stays)
    with writing_is_blocked(surface):
        asked = reached(surface, "claim_next_ready")
        adding = asyncio.create_task(surface.add())
        await until_taken(surface)
        assert (await gone.cancel(gone.last_id)).status == 202
    todo_id = await adding
    await asked.wait()
    assert (await second).json["result"]["structuredContent"]["id"] == todo_id
    assert "error" in (await first).json


async def test_a_wake_that_the_ledger_failed_is_passed_on(
    surface: Surface, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, peer = await surface.agent(), await surface.agent()
    waiting = await waits(surface, agent)

    async def fails(*_: object) -> None:
        raise StoreUnavailable("gone")

    async with peer.stream() as stream:
        monkeypatch.setattr(surface.store, "claim_next_ready", fails)
        todo_id = await surface.add()
        assert tool_error(await waiting)["code"] == "unavailable"
        assert (await stream.next_message())["params"]["meta"]["todo_id"] == todo_id


async def test_a_claim_of_the_2026_era_that_is_cut_stops_waiting(surface: Surface) -> None:
    agent = await surface.vend()
    _, writer = await asyncio.open_connection("127.0.0.1", surface.port)
    params = {"name": "claim", "arguments": {"wait_seconds": 25}}
    writer.write(modern_bytes(agent, "tools/call", params))
    await until_waiting(surface)
    writer.close()
    await until_waiting(surface, 0)
    todo_id = await surface.add()
    assert (await surface.todo(todo_id)).state is State.PENDING


# A caller that is gone before its answer


async def test_a_claim_cancelled_while_the_writer_has_it_is_taken_back(surface: Surface) -> None:
    agent, other = await surface.agent(), await surface.agent()
    todo_id = await surface.add()
    claiming = reached(surface, "claim_next_ready")
    with writing_is_blocked(surface):
        call = asyncio.create_task(agent.call("claim"))
        await claiming.wait()
        await until_taken(surface)
        await agent.cancel(agent.last_id)
        assert (await call).json["error"]["code"] == -32800
    again = await other.done("claim", wait_seconds=5)
    assert (again["id"], again["attempt"], again["prior_attempts"]) == (todo_id, 1, [])


async def test_a_call_past_its_authentication_cannot_write_once_its_endpoint_is_revoked(
    surface: Surface,
) -> None:
    agent = await surface.agent()
    todo_id, held = await surface.add(), await surface.add()
    await agent.done("claim", id=held)
    with writing_is_blocked(surface):
        revoking = asyncio.create_task(surface.revoke(agent))
        await reached(surface, "revoke_endpoint_if_active").wait()
        await until_taken(surface)
        calls = [
            asyncio.create_task(agent.call("claim", id=todo_id)),
            asyncio.create_task(agent.call("complete", id=held)),
        ]
        await until_queued(surface, len(calls))
    await revoking
    for call in calls:
        answer = await call
        assert answer.status == 401 or tool_error(answer)["code"] == "forbidden"
    for one in (todo_id, held):
        assert (await surface.todo(one)).state is State.PENDING


@pytest.mark.parametrize(
    ("tool", "method", "arguments", "expected"),
    [
        ("complete", "complete_if_held", {"result": 1}, State.DONE),
        ("fail", "fail_if_held", {"retry": False}, State.FAILED),
        ("release", "release_if_held", {}, State.PENDING),
        ("heartbeat", "heartbeat_if_held", {"lease_seconds": 3600}, State.CLAIMED),
    ],
)
async def test_what_a_holder_said_stands_though_he_left_before_the_answer(
    surface: Surface, tool: str, method: str, arguments: dict[str, Any], expected: State
) -> None:
    agent = await surface.agent(verbs=EVERY)
    todo_id = await surface.add()
    await agent.done("claim")
    before = await surface.todo(todo_id)
    await cut_off(surface, agent.bytes_of_call(tool, id=todo_id, **arguments), method)
    await surface.store.touch_sessions([("none", 0)])  # committed after what was taken before it
    after = await surface.todo(todo_id)
    assert after.state is expected
    assert (after != before, after.attempt) == (True, 1)
    if tool != "heartbeat":
        again = await agent.done(tool, id=todo_id, **arguments)
        assert again["state"] == expected, "the repetition after the lost answer succeeds"


async def test_a_todo_is_created_though_its_creator_left_and_its_key_finds_it(
    surface: Surface,
) -> None:
    agent = await surface.agent(verbs=EVERY)
    asked = {"queue": "reviews", "title": "x", "idempotency_key": "once"}
    await cut_off(surface, agent.bytes_of_call("create_todo", **asked), "create_in_scope")
    again = await agent.done("create_todo", **asked)
    assert again["created"] is False


# Keys


async def test_a_lost_claim_is_asked_for_again_by_its_key(surface: Surface) -> None:
    agent, other = await surface.agent(), await surface.agent()
    await surface.add("one", payload=[1])
    await surface.add("two")
    lost = await agent.done("claim", claim_key="turn 1")
    again = await agent.done("claim", claim_key="turn 1", wait_seconds=5)
    assert lost.pop("lease_token") != (token := again.pop("lease_token"))
    assert again == lost
    assert (await agent.done("claim", claim_key="turn 2"))["id"] != lost["id"]
    assert (await other.done("claim", claim_key="turn 1"))["empty"] is True
    wrong = await agent.call("claim", claim_key="turn 2", id=lost["id"])
    assert "invalid_argument: claim_key. " in wrong.json["result"]["content"][0]["text"]
    assert (await agent.done("complete", id=lost["id"], lease_token=token))["state"] == "done"
    assert (await agent.done("claim", claim_key="turn 1"))["empty"] is True


async def test_a_claim_asked_for_again_is_not_taken_back_with_its_caller(surface: Surface) -> None:
    agent = await surface.agent()
    todo_id = await surface.add()
    await agent.done("claim", claim_key="k")
    raw = agent.bytes_of_call("claim", claim_key="k")
    await cut_off(surface, raw, "claim_next_ready")
    again = await agent.done("claim", claim_key="k")
    assert (again["id"], again["attempt"]) == (todo_id, 1)
    history = await surface.store.todo(surface.ledger.workspace_id, todo_id)
    assert history is not None
    steps = [event.step.value for event in history.events]
    assert steps == ["create", "claim", "regrant", "regrant"]


# Late answers


async def test_work_that_is_finished_after_its_lease_is_taken_while_nobody_else_has_it(
    surface: Surface,
) -> None:
    agent = await surface.agent()
    done_late, beaten_late = await surface.add(), await surface.add()
    tokens = {
        todo_id: (await agent.done("claim", id=todo_id, lease_seconds=10))["lease_token"]
        for todo_id in (done_late, beaten_late)
    }
    surface.clock.advance(11_000)
    await surface.upkeep.sweep()
    assert (await surface.todo(done_late)).state is State.PENDING
    done = await agent.done("complete", id=done_late, result="late", lease_token=tokens[done_late])
    assert done["state"] == "done"
    beat = await agent.done("heartbeat", id=beaten_late, lease_token=tokens[beaten_late])
    assert (beat["state"], beat["yours"], beat["attempt"]) == ("claimed", True, 1)
    assert (await surface.todo(beaten_late)).lapses == 1, "the lapse stays counted"


async def test_late_work_is_refused_once_somebody_else_has_the_todo(surface: Surface) -> None:
    slow, quick = await surface.agent(), await surface.agent()
    todo_id = await surface.add()
    token = (await slow.done("claim", lease_seconds=10))["lease_token"]
    surface.clock.advance(11_000)
    await surface.upkeep.sweep()
    taken = await quick.done("claim", id=todo_id)
    (prior,) = taken["prior_attempts"]
    assert (prior["outcome"], prior["endpoint"]) == ("lapsed", slow.slug)
    for tool in ("complete", "heartbeat", "fail"):
        late = await slow.refused(tool, id=todo_id, lease_token=token)
        assert (late["code"], late["reason"]) == ("conflict", "lease_lost")
    assert (await quick.done("complete", id=todo_id))["state"] == "done"
