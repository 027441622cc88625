"""What a session may be named as: itself, what makes it, or what answers for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agent_transport.cli.target import TargetUnusable, opened
from agent_transport.local_session import LocalSession
from agent_transport.testing import FakeSession
from tests.agent_transport.adapters.asking import ask


async def answer(prompt: str) -> str:
    return f"heard: {prompt}"


async def answer_loudly(prompt: str, mark: str = "!") -> str:
    return f"heard: {prompt}"


def make() -> FakeSession:
    return FakeSession()


async def make_later(tools: Any = ()) -> FakeSession:
    return FakeSession(tools)


class Answers:
    async def __call__(self, prompt: str) -> str:
        return f"heard: {prompt}"


@pytest.mark.parametrize(
    "found", [FakeSession(), FakeSession, make, make_later, answer, answer_loudly, Answers()]
)
async def test_each_way_to_name_a_session_gives_one(found: Any) -> None:
    async with opened(found) as session:
        assert await ask(session, "a") == "heard: a"


async def two(prompt: str, more: str) -> str:
    return prompt


async def keyword(*, prompt: str) -> str:
    return prompt


def blocking(prompt: str) -> str:
    return prompt


def makes_none() -> Callable[[str], str]:
    return blocking


@pytest.mark.parametrize("found", [None, 7, "x", two, keyword, blocking, makes_none, Answers])
async def test_what_is_no_session_and_makes_none_is_refused(found: Any) -> None:
    with pytest.raises(TargetUnusable):
        async with opened(found):
            raise AssertionError("it must not be entered")


async def test_a_session_that_can_be_closed_is_closed_at_the_end() -> None:
    session = LocalSession(answer)
    async with opened(session):
        assert await session.list_runtime_tools() == ()
    with pytest.raises(Exception, match="closed"):
        await session.list_runtime_tools()
