"""An agent of the OpenAI Agents SDK as a session, on that library's own scripted model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agents import Agent, RunConfig, RunContextWrapper, function_tool
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from pydantic import BaseModel

from agent_transport.adapters.openai_agents import DENIED, openai_agents_session
from agent_transport.errors import TurnFailed, TurnNotRun
from agent_transport.local_session import LocalSession
from agent_transport.permission import Permissions
from agent_transport.testing import ManualCancel
from tests.agent_transport.adapters.asking import ask
from tests.specification import requirement

QUIET = RunConfig(tracing_disabled=True)


def session_of(
    model: ScriptedModel, *tools: Any, agent: Any = None, **settings: Any
) -> LocalSession:
    agent = agent or Agent(name="scout", model=model, tools=list(tools))
    return openai_agents_session(agent, run_config=QUIET, **settings)


def says(text: str) -> ModelStep:
    return ModelStep(output=[assistant_message(text)])


def prompts(call: ModelCall) -> list[str]:
    items: Any = call.input
    if isinstance(items, str):
        return [items]
    return [item["content"] for item in items if item.get("role") == "user"]


TELLS_WHAT_IT_WAS_ASKED = ModelStep.respond(lambda call: says(" | ".join(prompts(call))))


async def test_each_turn_is_a_run_of_the_agent() -> None:
    model = ScriptedModel([says("fine")])
    assert await ask(session_of(model), "?") == "fine"
    model.assert_complete()


async def test_an_output_that_is_no_text_is_answered_as_json() -> None:
    class Weather(BaseModel):
        city: str
        degrees: int

    model = ScriptedModel([says('{"city": "Bern", "degrees": 7}')])
    agent = Agent(name="scout", model=model, output_type=Weather)
    response = await ask(session_of(model, agent=agent), "?")
    assert json.loads(response) == {"city": "Bern", "degrees": 7}


async def test_the_agents_tools_get_the_context_that_was_given() -> None:
    seen: list[str] = []

    @function_tool
    def whose(context: RunContextWrapper[str]) -> str:
        seen.append(context.context)
        return "ok"

    model = ScriptedModel([ModelStep(output=[function_call("whose", {}, call_id="1")]), says("x")])
    assert await ask(session_of(model, whose, context="of ann"), "?") == "x"
    assert seen == ["of ann"]


async def test_without_a_memory_no_turn_sees_another_one() -> None:
    session = session_of(ScriptedModel([TELLS_WHAT_IT_WAS_ASKED] * 2))
    assert [await ask(session, "a"), await ask(session, "b")] == ["a", "b"]


async def test_with_a_memory_each_turn_sees_those_that_were_answered() -> None:
    steps = [
        TELLS_WHAT_IT_WAS_ASKED,
        ModelStep.raise_error(RuntimeError("the provider is down")),
        TELLS_WHAT_IT_WAS_ASKED,
    ]
    session = session_of(ScriptedModel(steps), remembers=True)
    assert await ask(session, "a") == "a"
    with pytest.raises(TurnFailed):
        await ask(session, "break")
    assert await ask(session, "b") == "a | b"


def asks_to_delete(arguments: Any, number: int = 1) -> ModelStep:
    return ModelStep(output=[function_call("delete", arguments, call_id=f"call-{number}")])


@requirement("agent-transport/admission/permission-without-prompt")
@pytest.mark.parametrize("said", ["allow", "deny", "ask"])
async def test_a_tool_that_needs_approval_runs_only_if_the_policy_allows_it(said: str) -> None:
    ran: list[str] = []

    @function_tool(needs_approval=True)
    def delete(path: str) -> str:
        ran.append(path)
        return "deleted"

    def tell(call: ModelCall) -> ModelStep:
        items: Any = call.input
        return says(next(i["output"] for i in items if i.get("type") == "function_call_output"))

    model = ScriptedModel([asks_to_delete({"path": "x"}), ModelStep.respond(tell)])
    response = await ask(session_of(model, delete, permissions=Permissions({"delete": said})), "?")
    assert ran == (["x"] if said == "allow" else [])
    assert response == ("deleted" if said == "allow" else DENIED)


async def test_a_model_that_asks_for_ever_for_what_it_is_denied_fails_its_turn() -> None:
    @function_tool(needs_approval=True)
    def delete(path: str) -> str:
        raise AssertionError("it was denied")

    model = ScriptedModel([asks_to_delete({"path": "x"}, number) for number in range(100)])
    with pytest.raises(TurnFailed):
        await ask(session_of(model, delete), "?")
    assert model.remaining_steps > 0


async def test_a_cancelled_turn_ends_the_run_and_the_next_one_is_answered() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def hang(call: ModelCall) -> ModelStep:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    session = session_of(ScriptedModel([ModelStep.respond(hang), says("b")]))
    cancel = ManualCancel()
    gone = asyncio.ensure_future(ask(session, "a", cancel))
    await begun.wait()
    cancel.set()
    with pytest.raises(TurnNotRun):
        await gone
    assert await ask(session, "b") == "b"
    assert ended.is_set()
