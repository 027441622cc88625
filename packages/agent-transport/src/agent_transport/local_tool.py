"""A tool of a `LocalSession`: what callers see of it, and the coroutine function that does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from agent_transport.session import Json, JsonObject, RuntimeTool

_ANYTHING: JsonObject = {"type": "object"}


@dataclass(frozen=True, slots=True)
class LocalTool:
    """`run` gets the arguments of a call, which it has to check, and returns a JSON value.

    A caller reads what `run` says in `ToolFailed`. Any other exception is logged and the caller
    hears only that the tool failed: its text may hold what the caller should not know.
    """

    name: str
    description: str
    run: Callable[[JsonObject], Awaitable[Json]] = field(repr=False)
    parameters: JsonObject = field(default_factory=_ANYTHING.copy, hash=False)

    def as_runtime_tool(self) -> RuntimeTool:
        """The tool as a catalog tells it."""
        return RuntimeTool(self.name, self.description, self.parameters)
