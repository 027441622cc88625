"""The examples that serve agents of other libraries, on those libraries' own test models."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import pytest
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

from tests.agent_transport.adapters.asking import ask


@pytest.fixture
def example(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example named by the test's parameter, imported anew without any key or setting."""
    for name in ("MODEL", "OPENAI_API_KEY", "AGENT_COMMAND"):
        monkeypatch.delenv(name, raising=False)
    name = f"examples.{request.param}"
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


@pytest.mark.parametrize("example", ["served_pydantic_ai"], indirect=True)
async def test_the_pydantic_ai_example_uses_its_tools_and_answers(example: Any) -> None:
    response = await ask(example.session, "How are the beds?")
    assert '"beds":["roses","beans"]' in response
    assert '"water":"watered ' in response


@pytest.mark.parametrize("example", ["served_openai_agents"], indirect=True)
async def test_the_openai_example_uses_its_tools_and_answers(example: Any) -> None:
    watered: list[str] = []

    def tell(call: Any) -> ModelStep:
        watered.extend(i["output"] for i in call.input if i.get("type") == "function_call_output")
        return ModelStep(output=[assistant_message("done")])

    asked = function_call("water", {"bed": "beans"}, call_id="1")
    example.agent.model = ScriptedModel([ModelStep(output=[asked]), ModelStep.respond(tell)])
    assert await ask(example.session, "Water the beans.") == "done"
    assert watered == ["watered beans"]


@pytest.mark.parametrize("example", ["served_command"], indirect=True)
async def test_the_command_example_answers_what_its_command_prints(example: Any) -> None:
    assert await ask(example.session, "abc\ndef") == "cba\nfed"
