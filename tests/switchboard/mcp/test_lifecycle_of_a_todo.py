"""What an agent does with todos from its handshake to the end, on a real ledger."""

from __future__ import annotations

import pytest

from switchboard.domain.credential import LEASE_TOKEN
from switchboard.domain.endpoint import CORE_VERBS, Verb
from switchboard.domain.todo import State
from tests.specification import requirement
from tests.switchboard.mcp.serving import Surface


@requirement(
    "SPEC-0014/endpoint/mounted-at-slug",
    "SPEC-0014/endpoint/initialize",
    "SPEC-0014/endpoint/tools-list",
    "SPEC-0014/endpoint/tools-call",
    "SPEC-0014/endpoint/ping",
    "SPEC-0014/tools/five-verbs",
    "SPEC-0014/push/capability",
)
async def test_a_client_shakes_hands_lists_and_calls_in_one_session(surface: Surface) -> None:
    todo_id = await surface.add("Read the draft", payload={"page": 3})
    agent = await surface.vend()
    opened = await agent.initialize()
    assert opened["serverInfo"]["name"] == "switchboard"
    assert opened["capabilities"]["tools"] == {"listChanged": False}
    assert opened["capabilities"]["experimental"] == {"claude/channel": {}}
    assert (await agent.post("ping")).json["result"] == {}
    listed = (await agent.post("tools/list")).json["result"]["tools"]
    assert [tool["name"] for tool in listed] == [verb.value for verb in CORE_VERBS]
    (row,) = (await agent.done("list_todos"))["todos"]
    assert (row["id"], row["state"], row["claimable"]) == (todo_id, "pending", True)
    claimed = await agent.done("claim", id=todo_id)
    assert list(claimed)[:3] == ["id", "lease_token", "lease_expires_at"]
    assert LEASE_TOKEN.fullmatch(claimed["lease_token"])
    assert (claimed["payload"], claimed["attempt"], claimed["yours"]) == ({"page": 3}, 1, True)
    beat = await agent.done("heartbeat", id=todo_id, lease_seconds=3600, note="half way")
    assert beat["lease_expires_at"] > claimed["lease_expires_at"]
    ended = await agent.done("complete", id=todo_id, result={"ok": True}, summary="read")
    assert ended["state"] == "done"
    todo = await surface.todo(todo_id)
    assert (todo.state, todo.result_json, todo.summary) == (State.DONE, '{"ok":true}', "read")


@requirement("SPEC-0014/endpoint/version-negotiated")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_the_version_is_what_the_sdk_agrees_on(surface: Surface, version: str) -> None:
    agent = await surface.vend()
    assert (await agent.initialize(version))["protocolVersion"] == version
    newest = await agent.initialize("2031-01-01")
    assert newest["protocolVersion"] == "2025-11-25"


async def test_a_failed_todo_waits_and_comes_back_with_its_history(surface: Surface) -> None:
    todo_id = await surface.add()
    agent = await surface.agent()
    await agent.done("claim")
    failed = await agent.done("fail", id=todo_id, reason="no network", summary="tried twice")
    assert (failed["state"], failed["available_at"] > failed["created_at"]) == ("pending", True)
    early = await agent.refused("claim", id=todo_id)
    assert (early["code"], early["reason"]) == ("conflict", "not_due")
    surface.clock.advance(40_000)
    again = await agent.done("claim")
    assert (again["id"], again["attempt"]) == (todo_id, 2)
    (prior,) = again["prior_attempts"]
    assert (prior["outcome"], prior["summary"]) == ("failed", "tried twice")
    dead = await agent.done("fail", id=todo_id, retry=False, lease_token=again["lease_token"])
    assert dead["state"] == "failed"


async def test_a_released_todo_costs_no_attempt_of_its_budget(surface: Surface) -> None:
    todo_id = await surface.add()
    agent = await surface.agent(verbs=(*CORE_VERBS, Verb.RELEASE))
    await agent.done("claim")
    assert (await agent.done("release", id=todo_id))["state"] == "pending"
    todo = await surface.todo(todo_id)
    assert (todo.state, todo.failures, todo.lapses) == (State.PENDING, 0, 0)


async def test_a_lost_lease_is_a_conflict_that_says_stop(surface: Surface) -> None:
    todo_id = await surface.add()
    slow, quick = await surface.agent(), await surface.agent()
    await slow.done("claim", lease_seconds=10)
    surface.clock.advance(11_000)
    taken = await quick.done("claim")
    assert (taken["id"], taken["attempt"]) == (todo_id, 2)
    lost = await slow.call("complete", id=todo_id)
    error = lost.json["result"]
    assert error["_meta"]["switchboard/error"]["code"] == "conflict"
    assert error["content"][0]["text"].startswith("conflict: lease_lost. Stop")
    assert (await surface.todo(todo_id)).state is State.CLAIMED


async def test_a_token_that_is_given_is_checked_and_may_be_needed(surface: Surface) -> None:
    todo_id = await surface.add()
    agent = await surface.agent()
    await agent.done("claim", lease_seconds=10)
    stale = await agent.refused("complete", id=todo_id, lease_token="lt_" + "a" * 20)
    assert (stale["code"], stale["reason"]) == ("conflict", "stale_token")
    surface.clock.advance(11_000)
    again = await agent.done("claim")
    needed = await agent.call("complete", id=todo_id)
    text = needed.json["result"]["content"][0]["text"]
    assert text.startswith("invalid_argument: lease_token. Pass the lease_token")
    done = await agent.done("complete", id=todo_id, lease_token=again["lease_token"])
    assert done["state"] == "done"


async def test_finishing_twice_with_the_same_content_is_harmless(surface: Surface) -> None:
    todo_id = await surface.add()
    agent = await surface.agent()
    await agent.done("claim")
    first = await agent.done("complete", id=todo_id, result=1)
    assert await agent.done("complete", id=todo_id, result=1) == first
    other = await agent.refused("complete", id=todo_id, result=2)
    assert (other["code"], other["reason"]) == ("conflict", "already_done")


async def test_an_empty_queue_says_when_to_ask_again(surface: Surface) -> None:
    agent = await surface.agent()
    empty = await agent.done("claim")
    assert empty == {"empty": True, "retry_after_seconds": 30}
    await surface.add(delay_ms=7_000)
    assert await agent.done("claim") == {"empty": True, "retry_after_seconds": 7}
