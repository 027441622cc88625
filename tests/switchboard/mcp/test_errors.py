"""What fails inside a call: the agent hears a code, the log has the rest, the service goes on."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from switchboard.domain.endpoint import Verb
from switchboard.domain.todo import State
from switchboard.errors import StoreUnavailable
from switchboard.stores.sqlite.connection import Transaction
from tests.specification import requirement
from tests.switchboard.captured_log import CapturedLog, captured_log
from tests.switchboard.mcp.agent import Agent, tool_error
from tests.switchboard.mcp.moments import (
    batches,
    reached,
    until_queued,
    until_taken,
    writing_is_blocked,
)
from tests.switchboard.mcp.serving import Surface

EVERY = tuple(Verb)
MATES = 4


@pytest.fixture
def log() -> Iterator[CapturedLog]:
    with captured_log() as captured:
        yield captured


async def limit_pages(surface: Surface, pages: int) -> None:
    """Give the database's disk a size."""

    def limit(tx: Transaction) -> None:
        tx._connection.execute(f"PRAGMA max_page_count = {pages}")  # pyright: ignore[reportPrivateUsage]

    await surface.store._writer.submit(limit)  # pyright: ignore[reportPrivateUsage]


def tells_no_inside(answer: dict[str, Any]) -> bool:
    """Whether an answer keeps the ledger's words to itself."""
    text = json.dumps(answer).lower()
    return not any(word in text for word in ("sqlite", "database", "disk", "lock", "traceback"))


@requirement("SPEC-0014/errors/store-failure", "SPEC-0014/errors/wrapped")
async def test_a_disk_that_fills_up_in_mid_batch_acknowledges_nobody_and_all_may_ask_again(
    surface: Surface, log: CapturedLog
) -> None:
    agents = [await surface.agent(verbs=EVERY) for _ in range(MATES)]
    held = [await surface.add() for _ in agents]
    for agent, todo_id in zip(agents, held, strict=True):
        await agent.done("claim", id=todo_id)
    await limit_pages(surface, 1)  # no page more than there are
    before = batches(surface)
    with writing_is_blocked(surface):
        first = reached(surface, "claim_next_ready")
        opener = asyncio.create_task(agents[0].call("claim"))  # the batch before
        await first.wait()
        await until_taken(surface)
        calls = [
            asyncio.create_task(agent.call("complete", id=todo_id, result="x" * 60_000))
            for agent, todo_id in zip(agents, held, strict=True)
        ]
        await until_queued(surface, MATES)
    assert (await opener).json["result"]["structuredContent"]["empty"] is True
    async with asyncio.timeout(10):
        answers = [await call for call in calls]
    for answer in answers:
        error = tool_error(answer)
        assert (error["code"], error["retryable"]) == ("unavailable", True)
        assert 2 <= error["retry_after_seconds"] <= 6
        assert tells_no_inside(answer.json)
    assert batches(surface) == before + 2, "the opener's, and one for all the others"
    waits = {tool_error(answer)["retry_after_seconds"] for answer in answers}
    assert len(waits) > 1, "they shall not all return at the same moment"
    records = log.of("tool_unavailable")
    assert {record["slug"] for record in records} == {agent.slug for agent in agents}
    assert {record["todo_id"] for record in records} == set(held)
    for record in records:
        assert record["tool"] == "complete"
        assert "sqlite3.OperationalError: database or disk is full" in record["exception"]
        assert "StoreUnavailable: the database cannot answer now" in record["exception"]
        assert "direct cause of the following exception" in record["exception"]
    assert [(await surface.todo(todo_id)).state for todo_id in held] == [State.CLAIMED] * MATES
    assert len((await agents[0].done("list_todos"))["todos"]) == MATES, "reading goes on"
    await limit_pages(surface, 1_000_000)
    for agent, todo_id in zip(agents, held, strict=True):
        assert (await agent.done("complete", id=todo_id, result="x" * 60_000))["state"] == "done"


@requirement("SPEC-0014/errors/wrapped", "SPEC-0014/errors/none-swallowed")
async def test_a_defect_in_the_ledger_is_internal_and_harms_nobody_else(
    surface: Surface, log: CapturedLog
) -> None:
    agent = await surface.agent(verbs=EVERY)
    todo_id = await surface.add()
    with sqlite3.connect(surface.path) as foreign:
        foreign.execute("ALTER TABLE attempt RENAME TO misplaced")
    answer = await agent.call("claim", id=todo_id)
    error = tool_error(answer)
    assert (error["code"], error["retryable"]) == ("internal", False)
    assert tells_no_inside(answer.json)
    created = await agent.done("create_todo", queue="reviews", title="beside it")
    assert created["created"] is True
    with foreign:
        foreign.execute("ALTER TABLE misplaced RENAME TO attempt")
    foreign.close()
    assert (await agent.done("claim", id=todo_id))["attempt"] == 1
    record = log.the("tool_failed")
    assert (record["slug"], record["tool"]) == (agent.slug, "claim")
    assert (record["todo_id"], record["level"]) == (todo_id, "error")
    assert "sqlite3.OperationalError: no such table" in record["exception"]
    assert "StoreError: the database refused a statement" in record["exception"]
    assert "direct cause of the following exception" in record["exception"]


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "list_todos": ("list_in_scope", {}),
    "claim": ("claim_next_ready", {}),
    "complete": ("complete_if_held", {"id": None}),
    "fail": ("fail_if_held", {"id": None}),
    "heartbeat": ("heartbeat_if_held", {"id": None}),
    "release": ("release_if_held", {"id": None}),
    "get_todo": ("todo_in_scope", {"id": None}),
    "create_todo": ("create_in_scope", {"queue": "reviews", "title": "x"}),
}


@requirement(
    "SPEC-0014/errors/none-swallowed",
    "SPEC-0014/errors/structured-log",
    "SPEC-0014/errors/no-credential-in-log",
)
@pytest.mark.parametrize("tool", list(CALLS))
async def test_whatever_verb_fails_the_agent_is_told_and_the_log_says_whose_call_it_was(
    surface: Surface, log: CapturedLog, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    agent = await surface.agent(verbs=EVERY)
    token = "lt_" + "a" * 20
    todo_id = await surface.add()
    method, arguments = CALLS[tool]
    arguments = {name: todo_id if value is None else value for name, value in arguments.items()}
    if tool in ("complete", "fail", "heartbeat", "release"):
        arguments["lease_token"] = token
    for raised, code, event in (
        (StoreUnavailable(f"gone with {token} and {agent.credential}"), "unavailable", None),
        (RuntimeError(f"wrong with {token} and {agent.credential}"), "internal", "tool_failed"),
    ):

        async def fails(*_: object, raised: Exception = raised) -> None:
            raise raised from OSError("the deeper cause")

        with monkeypatch.context() as patched:
            patched.setattr(surface.store, method, fails)
            answer = await agent.call(tool, **arguments)
        assert tool_error(answer)["code"] == code
        assert "deeper cause" not in answer.body.decode()
        record = log.the(event or "tool_unavailable")
        known = (record["slug"], record["tool"], record["session"])
        assert known == (agent.slug, tool, (agent.session or "")[:8])
        assert record.get("todo_id") == arguments.get("id")
        assert "OSError: the deeper cause" in record["exception"]
        assert record["request_id"]
    assert token not in log.text
    assert agent.credential not in log.text
    assert (await agent.post("ping")).status == 200
    assert (await surface.todo(todo_id)).state is State.PENDING


@requirement("SPEC-0014/errors/structured-log")
async def test_a_refused_call_is_logged_with_its_reason_and_a_done_one_is_not(
    surface: Surface, log: CapturedLog
) -> None:
    agent, other = await surface.agent(), await surface.agent(verbs=(Verb.CLAIM,))
    todo_id = await surface.add()
    await agent.done("claim", id=todo_id)
    assert log.of("tool_refused") == []
    await other.refused("claim", id=todo_id)
    held = log.the("tool_refused")
    assert (held["slug"], held["tool"], held["todo_id"]) == (other.slug, "claim", todo_id)
    assert (held["code"], held["reason"]) == ("conflict", "held_by_other")
    await other.refused("complete", id=todo_id)
    await other.refused("claim", queue="secrets")
    await other.refused("claim", wait_seconds=99)
    rest = [
        (record["tool"], record["code"], record.get("field")) for record in log.of("tool_refused")
    ]
    assert rest[1:] == [
        ("complete", "forbidden", None),
        ("claim", "forbidden", "queue"),
        ("claim", "invalid_argument", "wait_seconds"),
    ]
    ids = [record["request_id"] for record in log.of("tool_refused")]
    assert len(set(ids)) == len(ids)


@requirement("SPEC-0014/errors/none-swallowed")
async def test_a_claim_that_cannot_be_taken_back_is_logged_for_its_own_request(
    surface: Surface, log: CapturedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await surface.agent()
    await surface.add()
    undoing = asyncio.Event()

    async def fails(*_: object) -> None:
        undoing.set()
        raise StoreUnavailable("gone")

    monkeypatch.setattr(surface.store, "undo_claim", fails)
    claiming = reached(surface, "claim_next_ready")
    with writing_is_blocked(surface):
        call = asyncio.create_task(agent.call("claim"))
        await claiming.wait()
        await until_taken(surface)
        await agent.cancel(agent.last_id)
        await call
    async with asyncio.timeout(5):
        await undoing.wait()
    record = log.the("undo_failed")
    assert (record["slug"], record["tool"]) == (agent.slug, "claim")
    assert "StoreUnavailable: gone" in record["exception"]


@requirement("SPEC-0014/errors/none-swallowed")
async def test_a_request_that_admission_refused_is_told_at_debug_with_its_reason(
    surface: Surface,
) -> None:
    agent, other = await surface.agent(), await surface.agent()
    with captured_log("debug") as log:
        stranger = Agent(surface.port, agent.slug, "sbk_" + "a" * 43)
        foreign = Agent(surface.port, other.slug, agent.credential)
        for client, headers in ((stranger, {}), (foreign, {}), (agent, {"Host": "evil.example"})):
            assert (await client.post("ping", **headers)).status in (401, 403)
    told = [(record["status"], record["reason"]) for record in log.of("request_refused")]
    assert told == [(401, "credential"), (403, "foreign_credential"), (403, "host")]
    assert "a" * 43 not in log.text
    assert agent.credential not in log.text


async def test_a_session_that_cannot_be_read_is_503_and_logged_with_its_endpoint(
    surface: Surface, log: CapturedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await surface.agent()

    async def fails(*_: object) -> None:
        raise StoreUnavailable("gone")

    with monkeypatch.context() as patched:
        patched.setattr(surface.store, "session", fails)
        answer = await agent.post("tools/list")
    assert answer.status == 503
    assert 2 <= int(answer.headers["retry-after"]) <= 4
    assert log.the("session_unreadable")["slug"] == agent.slug
    assert (await agent.post("tools/list")).status == 200


async def test_a_message_that_breaks_the_kernel_is_an_error_and_the_connection_serves_on(
    surface: Surface, log: CapturedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent: Agent = await surface.agent()

    def fails(_: object) -> None:
        raise RuntimeError("a defect outside of any tool")

    with monkeypatch.context() as patched:
        patched.setattr("switchboard.mcp.app.tools", fails)
        answer = await agent.post("tools/list")
    assert answer.json["error"]["code"] == -32603
    assert "defect" not in answer.body.decode()
    record = log.the("handler_failed")
    assert record["slug"] == agent.slug
    assert "a defect outside of any tool" in record["exception"]


@requirement("SPEC-0014/errors/none-swallowed")
async def test_times_that_could_not_be_written_are_logged_and_written_later(
    surface: Surface, log: CapturedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await surface.agent()
    surface.clock.advance(5_000)
    assert (await agent.post("ping")).status == 200

    async def fails(*_: object) -> None:
        raise StoreUnavailable("gone")

    with monkeypatch.context() as patched:
        patched.setattr(surface.store, "stamp_last_seen", fails)
        patched.setattr(surface.store, "touch_sessions", fails)
        await surface.upkeep.flush()
    for event in ("last_seen_unwritten", "session_use_unwritten"):
        assert "StoreUnavailable: gone" in log.the(event)["exception"]
    await surface.upkeep.flush()
    assert (await surface.endpoint(agent)).last_seen_at_ms == surface.clock.now_ms()
