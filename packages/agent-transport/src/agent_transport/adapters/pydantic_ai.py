"""A session made of a Pydantic AI agent. Needs the extra `pydantic-ai`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, RunContext, ToolDenied
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import ModelMessage, ToolCallPart
from pydantic_core import to_json

from agent_transport.local_session import LocalSession
from agent_transport.local_tool import LocalTool
from agent_transport.permission import NOTHING_ALLOWED, Permission, PermissionPolicy, decide

DENIED = "Denied: a person would have to approve this, and nobody can be asked"

D = TypeVar("D")


def pydantic_ai_session(
    agent: Agent[D, Any],
    *,
    deps: D = None,
    remembers: bool = False,
    tools: Sequence[LocalTool] = (),
    permissions: PermissionPolicy = NOTHING_ALLOWED,
) -> LocalSession:
    """A session whose turns are runs of `agent`. An output that is no text is answered as JSON.

    A tool of the agent that requires approval is approved if `permissions` allows it and else
    denied; the model is told so and goes on. With `remembers` each turn sees the turns before it,
    whoever submitted them; without, no caller sees anything of another one's. How long a memory
    may grow is for the agent's history processors to say.
    """
    turns = _PydanticAiTurns(agent, deps, remembers, permissions)
    return LocalSession(turns, tools=tools, permissions=permissions)


class _PydanticAiTurns(Generic[D]):
    def __init__(
        self, agent: Agent[D, Any], deps: D, remembers: bool, permissions: PermissionPolicy
    ) -> None:
        self._agent = agent
        self._deps = deps
        self._remembers = remembers
        self._permissions = permissions
        self._history: list[ModelMessage] = []
        self._approvals = HandleDeferredToolCalls[D](self._decide)

    async def __call__(self, prompt: str) -> str:
        result: Any = await self._agent.run(
            prompt,
            deps=self._deps,
            message_history=self._history or None,
            capabilities=[self._approvals],
        )
        if self._remembers:  # only now: a turn that broke or was cancelled leaves no trace
            self._history = result.all_messages()
        output = result.output
        return output if isinstance(output, str) else to_json(output).decode()

    def _decide(
        self, context: RunContext[D], requests: DeferredToolRequests
    ) -> DeferredToolResults:
        return DeferredToolResults(
            approvals={call.tool_call_id: self._approval(call) for call in requests.approvals}
        )

    def _approval(self, call: ToolCallPart) -> bool | ToolDenied:
        try:
            arguments = call.args_as_dict()
        except (ValueError, AssertionError):  # a model's arguments that are no JSON object
            return ToolDenied(DENIED)
        said = decide(self._permissions, call.tool_name, arguments)
        return said is Permission.ALLOW or ToolDenied(DENIED)
