"""A local session behind the loopback host: what its callers are told, on the wire."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_transport.permission import Permissions
from tests.agent_transport.local_session.sessions import BOUND_S, Held
from tests.agent_transport.mcp.hosts import loopback, raw, tool_call
from tests.specification import requirement


def text(result: dict[str, Any]) -> str:
    return result["content"][0]["text"]


@requirement("agent-transport/call/cancel-spares-others")
async def test_two_callers_at_once_are_answered_in_order_each_with_its_own_answer() -> None:
    it, ended = Held(), list[str]()
    async with loopback(it.session) as host:
        calls: list[asyncio.Future[dict[str, Any]]] = []
        for prompt in ("a", "b"):
            call = asyncio.ensure_future(host.call("agent_submit", prompt=prompt))
            call.add_done_callback(lambda done: ended.append(text(done.result())))
            calls.append(call)
        first = await it.until_begun()
        it.release("a", "b")
        await asyncio.gather(*calls)
    assert sorted(map(text, (call.result() for call in calls))) == ["heard a", "heard b"]
    assert [text(call.result()) for call in calls] == ["heard a", "heard b"]
    assert ended == [f"heard {prompt}" for prompt in it.prompts]
    assert (it.prompts[0], it.most_at_once) == (first, 1)


@requirement("agent-transport/call/busy")
async def test_a_tool_during_a_turn_and_a_34th_submission_are_told_busy() -> None:
    it = Held()
    async with loopback(it.session) as host:
        turns = [await it.submit(str(n)) for n in range(33)]
        for name, arguments in (("held", {}), ("agent_submit", {"prompt": "x"})):
            result = await host.call(name, **arguments)
            assert result["isError"] is True
            assert "try again" in text(result)
        it.release(*map(str, range(33)))
        async with asyncio.timeout(BOUND_S):
            await asyncio.gather(*(turn.completed for turn in turns))
        assert (await host.call("agent_submit", prompt="0"))["isError"] is False


@requirement("agent-transport/call/cancel-spares-others")
async def test_a_client_that_leaves_ends_its_turn_and_the_next_caller_is_answered() -> None:
    it = Held()
    async with loopback(it.session) as host:
        _, leaving = await asyncio.open_connection("127.0.0.1", host.port)
        leaving.write(raw(host.lines(), tool_call("agent_submit", prompt="a")))
        assert await it.until_begun() == "a"
        staying = asyncio.ensure_future(host.call("agent_submit", prompt="b"))
        leaving.close()
        assert await it.until_begun() == "b"
        assert it.cancelled == ["a"]
        it.release("b")
        assert text(await staying) == "heard b"


async def test_a_turn_that_breaks_is_a_json_rpc_error_and_the_next_is_answered() -> None:
    class Broken(Held):
        async def answer(self, prompt: str) -> str:
            if prompt == "break":
                raise ValueError("inner detail")
            return await super().answer(prompt)

    it = Broken()
    it.release("a")
    async with loopback(it.session) as host:
        broken = (await host.post(tool_call("agent_submit", prompt="break"))).json
        assert "result" not in broken
        assert broken["error"] == {"code": -32603, "message": "The turn failed"}
        assert text(await host.call("agent_submit", prompt="a")) == "heard a"


async def test_a_closed_session_is_a_json_rpc_error() -> None:
    it = Held()
    async with loopback(it.session) as host:
        await it.session.close()
        closed = (await host.post(tool_call("agent_submit", prompt="a"))).json
        assert closed["error"] == {"code": -32603, "message": "The session is shutting down"}


@requirement(
    "agent-transport/call/permission-denied", "agent-transport/call/permission-interactive"
)
@pytest.mark.parametrize("said", ["deny", "ask"])
async def test_a_denied_tool_is_a_visible_error_that_says_why(said: str) -> None:

    it = Held(permissions=Permissions({"held": said}))
    async with loopback(it.session) as host:
        result = await host.call("held")
    assert result["isError"] is True
    assert f'"metadata":{{"permission":"{said}"}}' in text(result)
    assert it.begun.empty()
