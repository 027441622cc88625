"""Doorbells of the 2026-07-28 era: a client without a session asks for them by one key."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from switchboard.domain.endpoint import Verb
from tests.agent_transport.mcp.wire_client import Answer, read_head, request_bytes
from tests.specification import requirement
from tests.switchboard.mcp.agent import Agent, Stream
from tests.switchboard.mcp.serving import Surface, serving, until

VERSION = "2026-07-28"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
BELL = {"claude/channel": True}


def modern_bytes(
    agent: Agent, method: str, params: dict[str, Any], request_id: str = "s1"
) -> bytes:
    """A message of this era: it names itself in headers and brings its envelope along."""
    prefix = "io.modelcontextprotocol/"
    meta = {
        prefix + "protocolVersion": VERSION,
        prefix + "clientCapabilities": {},
        prefix + "clientInfo": {"name": "raw", "version": "1"},
    }
    body = {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": method,
        "params": params | {"_meta": meta},
    }
    headers = agent.headers(
        Mcp_Session_Id="",
        MCP_Protocol_Version=VERSION,
        Mcp_Method=method,
        Mcp_Name=params.get("name", ""),
    )
    return request_bytes("POST", json.dumps(body).encode(), headers, agent.path)


@asynccontextmanager
async def listening(
    agent: Agent, wanted: dict[str, Any], request_id: str = "s1"
) -> AsyncGenerator[Stream]:
    """A subscription, open from its acknowledgement, which is left to be read."""
    reader, writer = await asyncio.open_connection("127.0.0.1", agent.port)
    try:
        asked = {"notifications": wanted}
        writer.write(modern_bytes(agent, "subscriptions/listen", asked, request_id))
        status, headers = await read_head(reader)
        assert status == 200, status
        yield Stream(reader, writer, headers)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def acknowledged(stream: Stream) -> dict[str, Any]:
    """The parameters of the acknowledgement, which comes first."""
    message = await stream.next_message()
    assert message["method"] == "notifications/subscriptions/acknowledged"
    return message["params"]


async def test_a_client_without_a_session_is_rung_on_the_subscription_it_asked_for(
    surface: Surface,
) -> None:
    agent = await surface.vend()
    async with listening(agent, BELL, "mine") as stream:
        assert stream.headers["content-type"] == "text/event-stream"
        assert stream.headers["x-accel-buffering"] == "no"
        told = await acknowledged(stream)
        assert told == {"notifications": BELL, "_meta": {SUBSCRIPTION: "mine"}}
        todo_id = await surface.add("Read it")
        message = await stream.next_message()
    assert message["method"] == "notifications/claude/channel"
    assert message["params"]["meta"] == {"todo_id": todo_id, "queue": "reviews"}
    assert message["params"]["content"].startswith("Todo in reviews: Read it.")
    assert message["params"]["_meta"] == {SUBSCRIPTION: "mine"}


async def test_a_subscription_hears_of_what_waits_when_it_opens(surface: Surface) -> None:
    waiting = await surface.add()
    agent = await surface.vend()
    async with listening(agent, BELL) as stream:
        await acknowledged(stream)
        message = await stream.next_message()
        assert message["params"]["meta"]["todo_id"] == waiting
        assert message["params"]["_meta"] == {SUBSCRIPTION: "s1"}


async def test_a_subscription_of_which_nothing_is_honoured_ends_at_once(surface: Surface) -> None:
    agent = await surface.vend()
    deaf = await surface.vend(verbs=(Verb.COMPLETE,))
    for one, wanted in (
        (agent, {"toolsListChanged": True}),
        (agent, {"claude/channel": "yes"}),
        (agent, {}),
        (deaf, BELL),
    ):
        async with listening(one, wanted) as stream:
            assert (await acknowledged(stream))["notifications"] == {}
            assert (await stream.next_message())["result"]["_meta"][SUBSCRIPTION] == "s1"
            await stream.until_end()
    discovered = await agent.send(modern_bytes(agent, "server/discover", {}))
    assert "listChanged" not in discovered.json["result"]["capabilities"]["tools"]


async def test_of_a_session_stream_and_a_subscription_exactly_one_is_rung(
    surface: Surface,
) -> None:
    agent = await surface.agent()
    async with agent.stream() as session, listening(agent, BELL) as stream:
        await acknowledged(stream)
        first, second = await surface.add("one"), await surface.add("two")
        heard = await stream.next_message(), await session.next_message()
        assert {one["params"]["meta"]["todo_id"] for one in heard} == {first, second}
        await surface.app.stop()
        assert b"claude/channel" not in await session.until_end()
        assert b"claude/channel" not in await stream.until_end()


@requirement("SPEC-0014/concurrency/stream-ends-on-revocation")
async def test_revoking_cuts_a_subscription_and_tells_no_result(surface: Surface) -> None:
    agent = await surface.vend()
    async with listening(agent, BELL) as stream:
        await acknowledged(stream)
        await surface.revoke(agent)
        assert await stream.until_end(1.0) == b""
    assert (await agent.send(modern_bytes(agent, "server/discover", {}))).status == 401


@requirement("SPEC-0014/concurrency/stream-ends-on-shutdown")
async def test_a_drain_ends_a_subscription_with_its_result(tmp_path: Path) -> None:
    async with serving(tmp_path) as surface:
        agent = await surface.vend()
        async with listening(agent, BELL) as stream:
            await acknowledged(stream)
            await surface.listener.stop()
            result = (await stream.next_message())["result"]
            assert result["_meta"][SUBSCRIPTION] == "s1"
            await stream.until_end(1.0)


@requirement("SPEC-0014/concurrency/stream-ends-on-disconnect")
async def test_clients_that_leave_free_their_subscriptions(surface: Surface) -> None:
    agent = await surface.vend()
    endpoint = await surface.endpoint(agent)
    for _ in range(40):  # more than an endpoint may hold open at once
        async with listening(agent, BELL) as stream:
            await acknowledged(stream)
        await until(lambda: surface.app.bells.streams_of(endpoint.id) == 0)


async def test_an_endpoint_has_so_many_subscriptions_and_the_next_is_refused(
    surface: Surface,
) -> None:
    agent = await surface.vend()
    async with contextlib.AsyncExitStack() as stack:
        for number in range(32):
            stream = await stack.enter_async_context(listening(agent, BELL, f"s{number}"))
            await acknowledged(stream)
        asked = {"notifications": BELL}
        refused: Answer = await agent.send(modern_bytes(agent, "subscriptions/listen", asked))
        assert refused.json["error"]["message"] == "Too many streams are open: close one first"
        assert (await agent.send(modern_bytes(agent, "server/discover", {}))).status == 200
