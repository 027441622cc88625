"""What `MODULE:OBJECT` names: a session, what makes one, or what answers for one."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any

from agent_transport.adapters.function import function_session, is_asynchronous
from agent_transport.errors import AgentTransportError
from agent_transport.session import McpTransportSession

_ROLES = ("submit", "list_runtime_tools", "invoke_runtime_tool")


class TargetUnusable(AgentTransportError):
    """There is no such object, or it is nothing that could be served."""

    code = "target_unusable"


def find(target: str) -> Any:
    """Import the module, from the working directory too, and return the object.

    Raises:
        TargetUnusable: there is no such module or no such object.
        Exception: whatever the module's own code raises.
    """
    module_name, _, path = target.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module is there; one that it imports is not
        raise TargetUnusable(f"there is no module {module_name!r}") from error
    try:
        return attrgetter(path)(module)
    except AttributeError as error:
        raise TargetUnusable(f"the module {module_name!r} has no {path!r}") from error


@asynccontextmanager
async def opened(found: Any) -> AsyncGenerator[McpTransportSession]:
    """The session that `found` is, makes or answers for.

    A session that is an async context manager is entered, and left at the end.

    Raises:
        TargetUnusable: it is no session and makes none.
    """
    session = await _session(found)
    if not hasattr(session, "__aenter__"):
        yield session
        return
    entered: Any = session
    async with entered:
        yield session


async def _session(found: Any) -> McpTransportSession:
    if _is_session(found):
        return found
    required = _required_arguments(found)
    if required == 1 and is_asynchronous(found):
        return function_session(found)
    if required != 0:
        raise TargetUnusable(
            "the object is no session, makes none, and is no async def of a prompt"
        )
    made = found()
    if inspect.isawaitable(made):
        made = await made
    if not _is_session(made):
        raise TargetUnusable(f"the function made no session but {type(made).__name__}")
    return made


def _is_session(thing: Any) -> bool:
    if isinstance(thing, type):
        return False  # a class of sessions makes one
    return all(callable(getattr(thing, role, None)) for role in _ROLES)


def _required_arguments(thing: Any) -> int | None:
    """How many arguments a call must have; None: it cannot be called, or not with these."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return None
    needed = [p for p in parameters if p.default is p.empty and p.kind not in _VARIADIC]
    return None if any(p.kind is p.KEYWORD_ONLY for p in needed) else len(needed)


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
