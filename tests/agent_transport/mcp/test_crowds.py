"""Many messages at once from one session, and cancellations that mean another call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.agent_transport.mcp.fixture_server import serving
from tests.agent_transport.mcp.test_isolation import connected, text
from tests.agent_transport.mcp.wire_client import BOUND_S, exchange, request_bytes

IN_FLIGHT = 64


async def test_a_session_has_64_calls_in_flight_and_each_gets_its_own_answer() -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        calls = [asyncio.create_task(client.call("undoable", n)) for n in range(IN_FLIGHT)]
        async with asyncio.timeout(BOUND_S):
            while fixture.begun < IN_FLIGHT:
                await fixture.waiting.wait()
                fixture.waiting.clear()
        refused = await client.call("echo", "one too many")
        assert (refused.status, refused.body) == (429, b"")
        fixture.release.set()
        assert [(await call).json["id"] for call in calls] == list(range(IN_FLIGHT))
        assert text(await client.call("echo", text="and on it goes")) == "and on it goes"


async def test_a_burst_of_notifications_is_accepted_and_the_session_serves_on() -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        told = ("notifications/initialized", "notifications/roots/list_changed", "no/such")
        answers = await asyncio.gather(*(client.notify(name) for name in told * 70))
        assert {(answer.status, answer.body) for answer in answers} == {(202, b"")}
        assert (await client.post("ping")).json["result"] == {}
        assert len(fixture.sessions.rows) == 1


@pytest.mark.parametrize(
    "params",
    [b"{}", b'{"requestId":null}', b'{"requestId":[]}', b'{"requestId":{}}', b"null"],
)
async def test_a_cancellation_that_names_no_call_is_accepted_and_cancels_none(
    params: bytes,
) -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        call = asyncio.create_task(client.call("undoable", 1))
        await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
        body = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":' + params + b"}"
        told = await exchange(fixture.port, request_bytes("POST", body, client.headers()))
        assert told.status == 202
        fixture.release.set()
        assert text(await call) == "changed"


@pytest.mark.parametrize(("running", "named"), [(1, "1"), ("1", 1), (1, True), (0, False), (1, 2)])
async def test_a_cancellation_means_the_call_of_exactly_its_id(running: Any, named: Any) -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        call = asyncio.create_task(client.call("undoable", running))
        await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
        await client.notify("notifications/cancelled", {"requestId": named})
        await client.post("ping")
        assert not call.done()
        fixture.release.set()
        assert text(await call) == "changed"


async def test_a_cancelled_call_leaves_its_session_in_service() -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        call = asyncio.create_task(client.call("undoable", "long"))
        await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
        await client.notify("notifications/cancelled", {"requestId": "long", "reason": "enough"})
        assert (await call).json["error"]["code"] == -32800
        assert text(await client.call("echo", text="still here")) == "still here"


async def test_an_answer_to_a_request_that_was_never_sent_is_accepted_and_means_nothing() -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        for body in (b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"jsonrpc":"2.0","error":{}}'):
            told = await exchange(fixture.port, request_bytes("POST", body, client.headers()))
            assert (told.status, told.body) == (202, b"")
        client.session = "nobody"
        lost = await exchange(fixture.port, request_bytes("POST", body, client.headers()))
        assert lost.status == 404


async def test_those_who_are_sent_away_together_are_not_called_back_together() -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        fixture.carrier.drain()
        refused = [await client.post("ping") for _ in range(40)]
        assert {answer.status for answer in refused} == {503}
        assert len({answer.headers["retry-after"] for answer in refused}) > 1


async def test_a_client_that_takes_json_alone_gets_its_answer_without_the_progress() -> None:
    async with serving() as fixture:
        client = await connected(fixture)
        params = {"name": "progress", "arguments": {}, "_meta": {"progressToken": "t"}}
        raw = client.raw("tools/call", params).replace(b", text/event-stream", b"")
        answer = await exchange(fixture.port, raw)
        assert answer.headers["content-type"] == "application/json"
        assert text(answer) == "done"
