"""One real session behind each carrier: callers at once, a busy session, a turn that breaks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent_transport.local_session import LocalSession
from agent_transport.local_tool import LocalTool
from agent_transport.mcp.stdio import create_mcp_transport
from agent_transport.permission import Permissions
from agent_transport.session import CancelSignal, JsonObject, McpTransportSession, TurnHandle
from tests.agent_transport.mcp.hosts import loopback, tool_call
from tests.agent_transport.mcp.pipes import pipe_peer
from tests.agent_transport.mcp.remote_peer import remote
from tests.agent_transport.mcp.wire_client import BOUND_S
from tests.specification import requirement

SECRET = "what-the-model-said"
Post = Callable[[str, JsonObject], Awaitable[JsonObject]]


@dataclass
class Caller:
    """Makes calls; each may be given up."""

    post: Post

    def call(self, tool: str, **arguments: Any) -> asyncio.Task[JsonObject]:
        """The JSON-RPC answer to a tool call, as a task; cancelled, the request is given up."""
        return asyncio.ensure_future(self._call(tool, arguments))

    async def _call(self, tool: str, arguments: JsonObject) -> JsonObject:
        async with asyncio.timeout(BOUND_S):
            return await self.post(tool, arguments)


@asynccontextmanager
async def over_loopback(session: McpTransportSession) -> AsyncGenerator[Caller]:
    async with loopback(session) as it:

        async def post(tool: str, arguments: JsonObject) -> JsonObject:
            return (await it.post(tool_call(tool, **arguments))).json

        yield Caller(post)


@asynccontextmanager
async def over_remote(session: McpTransportSession) -> AsyncGenerator[Caller]:
    async with remote(session) as it:

        async def post(tool: str, arguments: JsonObject) -> JsonObject:
            return (await it.ask(body=tool_call(tool, **arguments))).json

        yield Caller(post)


@asynccontextmanager
async def over_stdio(session: McpTransportSession) -> AsyncGenerator[Caller]:
    with pipe_peer() as peer:
        transport = create_mcp_transport(wire=peer.wire)
        transport.attach(session)
        await transport.start()
        await peer.open_session()
        answers: dict[int, asyncio.Future[JsonObject]] = {}

        async def post(tool: str, arguments: JsonObject) -> JsonObject:
            request_id = len(answers) + 2
            answers[request_id] = asyncio.get_running_loop().create_future()
            peer.call(tool, request_id=request_id, **arguments)
            try:
                return await answers[request_id]
            except asyncio.CancelledError:
                peer.tell("notifications/cancelled", {"requestId": request_id})
                raise

        async def read() -> None:
            while (line := await peer.next_line()) is not None:
                message = json.loads(line)
                if not (waiting := answers[message["id"]]).done():
                    waiting.set_result(message)

        reading = asyncio.create_task(read())
        try:
            yield Caller(post)
        finally:
            reading.cancel()
            await asyncio.wait([reading])
            await transport.stop()


Over = Callable[[McpTransportSession], Any]
CARRIERS: list[Over] = [over_stdio, over_loopback, over_remote]
each_carrier = pytest.mark.parametrize("over", CARRIERS, ids=["stdio", "loopback", "remote"])


class Watched(LocalSession):
    """Tells what is submitted, with the signal of its caller."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.submitted = asyncio.Queue[CancelSignal]()

    async def submit(self, prompt: str, *, driver_id: str, cancel: CancelSignal) -> TurnHandle:
        turn = await super().submit(prompt, driver_id=driver_id, cancel=cancel)
        self.submitted.put_nowait(cancel)
        return turn


@dataclass
class Agent:
    """Turns that a test sees begin and lets end."""

    began: asyncio.Queue[str] = field(default_factory=asyncio.Queue[str])
    cancelled: asyncio.Queue[str] = field(default_factory=asyncio.Queue[str])
    answers: asyncio.Queue[str | Exception] = field(default_factory=asyncio.Queue[str | Exception])
    asked: list[str] = field(default_factory=list[str])
    submitted: asyncio.Queue[CancelSignal] = field(default_factory=asyncio.Queue[CancelSignal])

    async def run_turn(self, prompt: str) -> str:
        self.began.put_nowait(prompt)
        try:
            answer = await self.answers.get()
        except asyncio.CancelledError:
            self.cancelled.put_nowait(prompt)
            raise
        if isinstance(answer, Exception):
            raise answer
        return f"{prompt}: {answer}"

    async def tool(self, arguments: JsonObject) -> Any:
        self.asked.append("tool")
        return arguments

    def session(self) -> Watched:
        tools = [LocalTool(name, name, self.tool) for name in ("open", "asks", "shut")]
        allowed = Permissions({"open": "allow", "asks": "ask", "shut": "deny"})
        session = Watched(self.run_turn, tools=tools, permissions=allowed)
        self.submitted = session.submitted
        return session

    async def begins(self) -> str:
        async with asyncio.timeout(BOUND_S):
            return await self.began.get()


def text_of(answer: JsonObject) -> tuple[str, bool]:
    result = answer["result"]
    return result["content"][0]["text"], result["isError"]


@each_carrier
async def test_two_callers_at_once_are_answered_in_order_each_with_its_own(over: Over) -> None:
    agent = Agent()
    async with agent.session() as session, over(session) as caller:
        first = caller.call("agent_submit", prompt="one")
        assert await agent.begins() == "one"
        second = caller.call("agent_submit", prompt="two")
        for _ in range(2):
            await agent.submitted.get()
        assert agent.began.empty()
        agent.answers.put_nowait("1")
        assert text_of(await first) == ("one: 1", False)
        assert await agent.begins() == "two"
        agent.answers.put_nowait("2")
        assert text_of(await second) == ("two: 2", False)
        assert agent.asked == []


@each_carrier
@requirement("agent-transport/call/busy")
async def test_a_tool_call_during_a_turn_is_told_busy_and_served_after_it(over: Over) -> None:
    agent = Agent()
    async with agent.session() as session, over(session) as caller:
        turn = caller.call("agent_submit", prompt="one")
        await agent.begins()
        assert text_of(await caller.call("open"))[1]
        agent.answers.put_nowait("1")
        await turn
        told, is_error = text_of(await caller.call("open", n=1))
        assert (json.loads(told), is_error) == ({"success": True, "result": {"n": 1}}, False)


@each_carrier
@requirement("agent-transport/call/cancel-spares-others")
@pytest.mark.parametrize("given_up", ["running", "waiting"])
async def test_giving_one_request_up_leaves_the_other(over: Over, given_up: str) -> None:
    agent = Agent()
    async with agent.session() as session, over(session) as caller:
        running = caller.call("agent_submit", prompt="running")
        await agent.begins()
        waiting = caller.call("agent_submit", prompt="waiting")
        signals = [await agent.submitted.get() for _ in range(2)]
        if given_up == "running":
            running.cancel()
            async with asyncio.timeout(BOUND_S):
                assert await agent.cancelled.get() == "running"
            kept = waiting
            assert await agent.begins() == "waiting"
        else:
            waiting.cancel()
            kept = running
            async with asyncio.timeout(BOUND_S):
                await signals[1].wait()
        agent.answers.put_nowait("done")
        assert text_of(await kept) == (
            f"{'waiting' if kept is waiting else 'running'}: done",
            False,
        )
        assert agent.began.empty()
        assert [signal.is_set() for signal in signals] == [kept is waiting, kept is running]


@each_carrier
async def test_a_turn_that_breaks_is_a_protocol_error_without_its_reason(
    over: Over, caplog: pytest.LogCaptureFixture
) -> None:
    agent = Agent()
    async with agent.session() as session, over(session) as caller:
        broken = caller.call("agent_submit", prompt="one")
        await agent.begins()
        agent.answers.put_nowait(RuntimeError(SECRET))
        answer = await broken
        assert answer["error"] == {"code": -32603, "message": "The turn failed"}
        agent.answers.put_nowait("2")
        assert text_of(await caller.call("agent_submit", prompt="two")) == ("two: 2", False)
    assert SECRET in caplog.text


@each_carrier
async def test_a_session_that_was_closed_is_a_protocol_error(over: Over) -> None:
    session = Agent().session()
    async with over(session) as caller:
        await session.close()
        for tool in ("agent_submit", "open"):
            answer = await caller.call(tool, prompt="x")
            assert answer["error"]["message"] == "The session is shutting down"


@each_carrier
@requirement(
    "agent-transport/admission/permission-without-prompt",
    "agent-transport/call/permission-denied",
    "agent-transport/call/permission-interactive",
)
async def test_what_is_denied_or_would_need_a_person_is_a_visible_error(over: Over) -> None:
    agent = Agent()
    async with agent.session() as session, over(session) as caller:
        for tool in ("shut", "asks"):
            told, is_error = text_of(await caller.call(tool))
            assert (is_error, json.loads(told)["success"]) == (True, False)
            assert "ermission" in told
        assert text_of(await caller.call("open")) == ('{"success":true,"result":{}}', False)
    assert agent.asked == ["tool"]
