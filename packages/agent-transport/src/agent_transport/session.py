"""The session port: the small part of an agent session that a transport is served from.

Two roles, turn submission and runtime tools. A session that can do more fits as it is; a
transport never asks for more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

JsonObject = dict[str, Any]
"""A JSON object: string keys, JSON values."""

Json = Any
"""A JSON value."""


class CancelSignal(Protocol):
    """Says that the caller of one call no longer wants it. It is set at most once.

    A transport sets it and also stops waiting; a coroutine of the session that is awaited at that
    moment is cancelled. Only what the session runs by itself has to watch the signal.
    """

    def is_set(self) -> bool:
        """Whether the caller is gone."""
        ...

    async def wait(self) -> object:
        """Return once the caller is gone. May be awaited by several at a time."""
        ...

    def on_set(self, call: Callable[[], object]) -> Callable[[], None]:
        """Have `call` run once the caller is gone, at once if it is; what comes back undoes that.

        `call` must be quick and may not raise.
        """
        ...


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What a turn came to. `response` is what a caller gets to read."""

    response: str


class TurnHandle(Protocol):
    """A turn that was taken on."""

    @property
    def turn_id(self) -> str:
        """Names the turn within its session."""
        ...

    @property
    def completed(self) -> Awaitable[TurnResult]:
        """The end of this very turn; it always settles, in the order of submission.

        Giving up the wait leaves the turn alone: what ends it is its cancel signal.

        Raises:
            TurnNotRun: it never ran, or was cancelled.
            TurnFailed: it broke.
            SessionClosed: the session ended meanwhile.
        """
        ...


class TurnSubmission(Protocol):
    """The role of a session that takes prompts."""

    async def submit(self, prompt: str, *, driver_id: str, cancel: CancelSignal) -> TurnHandle:
        """Queue one turn. May be called at any time, by several callers at once.

        `driver_id` says who drives: a session may merge what one driver submits, never what two
        do. `cancel` ends this turn, waiting or running, and touches no other.

        Raises:
            SessionBusy: too many turns wait already.
            SessionClosed: the session has ended.
        """
        ...


@dataclass(frozen=True, slots=True)
class RuntimeTool:
    """One tool as the session knows it. `parameters` is a JSON schema whose root is an object."""

    name: str
    description: str
    parameters: JsonObject = field(hash=False)


@dataclass(frozen=True, slots=True)
class ToolEnvelope:
    """How a tool call went. None stands for a member that the envelope does not have."""

    success: bool
    result: Json | None = field(default=None, hash=False)
    error: str | None = None
    metadata: JsonObject | None = field(default=None, hash=False)

    def as_json(self) -> JsonObject:
        """The envelope with the members it has."""
        members = {"result": self.result, "error": self.error, "metadata": self.metadata}
        told = {name: value for name, value in members.items() if value is not None}
        return {"success": self.success, **told}


class RuntimeTools(Protocol):
    """The role of a session that offers tools."""

    async def list_runtime_tools(self) -> Sequence[RuntimeTool]:
        """The canonical catalog, in the session's order. Asked for anew on every list and call."""
        ...

    async def invoke_runtime_tool(
        self, name: str, arguments: JsonObject, *, cancel: CancelSignal
    ) -> ToolEnvelope:
        """Run one tool under the session's own permission rules.

        Nobody is prompted: what would need a person is denied. A denial, and a tool that failed,
        are envelopes without success.

        Raises:
            SessionBusy: a turn is running or waiting.
            SessionClosed: the session has ended.
        """
        ...


class McpTransportSession(TurnSubmission, RuntimeTools, Protocol):
    """What the MCP transport needs of a session: both roles, nothing else."""
