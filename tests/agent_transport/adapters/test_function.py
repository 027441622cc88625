"""A plain coroutine function as a session."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from agent_transport.adapters.function import function_session
from agent_transport.errors import ConfigurationError
from tests.agent_transport.adapters.asking import ask


async def answer(prompt: str, mark: str = "!") -> str:
    return prompt + mark


class Agent:
    async def __call__(self, prompt: str) -> str:
        return f"agent of {prompt}"

    async def method(self, prompt: str) -> str:
        return f"method of {prompt}"

    def name(self, prompt: str) -> str:
        return prompt


def blocking(prompt: str) -> str:
    return prompt


NOT_ASYNCHRONOUS: list[Any] = [blocking, Agent, Agent().name, "answer", None]


@pytest.mark.parametrize(
    ("function", "response"),
    [
        (answer, "a!"),
        (partial(answer, mark="?"), "a?"),
        (Agent(), "agent of a"),
        (Agent().method, "method of a"),
    ],
)
async def test_whatever_is_awaited_to_answer_can_be_a_session(function: Any, response: str) -> None:
    assert await ask(function_session(function), "a") == response


@pytest.mark.parametrize("thing", NOT_ASYNCHRONOUS)
def test_what_would_block_the_loop_or_is_no_function_is_refused(thing: Any) -> None:
    with pytest.raises(ConfigurationError, match="answer"):
        function_session(thing)


async def test_callers_at_once_each_get_their_own_answer() -> None:
    session = function_session(answer)
    assert await asyncio.gather(*(ask(session, str(n)) for n in range(20))) == [
        f"{n}!" for n in range(20)
    ]
