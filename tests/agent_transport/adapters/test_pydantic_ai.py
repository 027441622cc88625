"""A Pydantic AI agent as a session, on that library's own test models."""

from __future__ import annotations

import asyncio
import json

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelMessage, ModelResponse, RunContext, TextPart, ToolCallPart
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from agent_transport.adapters.pydantic_ai import DENIED, pydantic_ai_session
from agent_transport.errors import TurnFailed, TurnNotRun
from agent_transport.permission import Permissions
from agent_transport.testing import ManualCancel
from tests.agent_transport.adapters.asking import ask
from tests.specification import requirement


def prompts(messages: list[ModelMessage]) -> list[str]:
    return [
        str(part.content)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]


def tells_what_it_was_asked(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    asked = prompts(messages)
    if asked[-1] == "break":
        raise RuntimeError("the provider is down")
    return ModelResponse([TextPart(" | ".join(asked))])


async def test_each_turn_is_a_run_of_the_agent() -> None:
    assert (
        await ask(pydantic_ai_session(Agent(TestModel(custom_output_text="fine"))), "?") == "fine"
    )


async def test_an_output_that_is_no_text_is_answered_as_json() -> None:
    class Weather(BaseModel):
        city: str
        degrees: int

    model = TestModel(custom_output_args={"city": "Bern", "degrees": 7})
    response = await ask(pydantic_ai_session(Agent(model, output_type=Weather)), "?")
    assert json.loads(response) == {"city": "Bern", "degrees": 7}


async def test_the_agents_tools_get_the_dependencies_that_were_given() -> None:
    agent = Agent(TestModel(), deps_type=str)

    @agent.tool
    def whose(context: RunContext[str]) -> str:
        return context.deps

    assert "of ann" in await ask(pydantic_ai_session(agent, deps="of ann"), "?")


async def test_without_a_memory_no_turn_sees_another_one() -> None:
    session = pydantic_ai_session(Agent(FunctionModel(tells_what_it_was_asked)))
    assert [await ask(session, "a"), await ask(session, "b")] == ["a", "b"]


async def test_with_a_memory_each_turn_sees_those_that_were_answered() -> None:
    session = pydantic_ai_session(Agent(FunctionModel(tells_what_it_was_asked)), remembers=True)
    assert await ask(session, "a") == "a"
    with pytest.raises(TurnFailed):
        await ask(session, "break")
    assert await ask(session, "b") == "a | b"


@requirement("agent-transport/admission/permission-without-prompt")
@pytest.mark.parametrize("said", ["allow", "deny", "ask"])
async def test_a_tool_that_requires_approval_runs_only_if_the_policy_allows_it(said: str) -> None:
    ran: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        returned = [
            part.content
            for message in messages
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        ]
        if returned:
            return ModelResponse([TextPart(str(returned[0]))])
        return ModelResponse([ToolCallPart("delete", {"path": "x"})])

    agent = Agent(FunctionModel(model))

    @agent.tool_plain(requires_approval=True)
    def delete(path: str) -> str:
        ran.append(path)
        return "deleted"

    response = await ask(pydantic_ai_session(agent, permissions=Permissions({"delete": said})), "?")
    assert ran == (["x"] if said == "allow" else [])
    assert response == ("deleted" if said == "allow" else DENIED)


async def test_a_cancelled_turn_ends_the_run_and_the_next_one_is_answered() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if prompts(messages) == ["b"]:
            return ModelResponse([TextPart("b")])
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    session, cancel = pydantic_ai_session(Agent(FunctionModel(model))), ManualCancel()
    gone = asyncio.ensure_future(ask(session, "a", cancel))
    await begun.wait()
    cancel.set()
    with pytest.raises(TurnNotRun):
        await gone
    assert await ask(session, "b") == "b"
    assert ended.is_set()
