"""A session made of one coroutine function. Needs nothing but the standard library."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from agent_transport.errors import ConfigurationError
from agent_transport.local_session import LocalSession, RunTurn
from agent_transport.local_tool import LocalTool
from agent_transport.permission import NOTHING_ALLOWED, PermissionPolicy


def function_session(
    answer: RunTurn,
    *,
    tools: Sequence[LocalTool] = (),
    permissions: PermissionPolicy = NOTHING_ALLOWED,
) -> LocalSession:
    """A session that answers each prompt with what `await answer(prompt)` returns.

    Raises:
        ConfigurationError: `answer` is not asynchronous: it would hold up all other callers.
    """
    if not is_asynchronous(answer):
        raise ConfigurationError("answer", "must be an async function of one prompt")
    return LocalSession(answer, tools=tools, permissions=permissions)


def is_asynchronous(thing: Any) -> bool:
    """Whether a call of `thing` must be awaited: of a function, or of an object that is called."""
    if isinstance(thing, type):
        return False  # to call a class is to make an object
    called: Any = getattr(thing, "__call__", None)  # noqa: B004  # the method itself is looked at
    return inspect.iscoroutinefunction(thing) or inspect.iscoroutinefunction(called)
