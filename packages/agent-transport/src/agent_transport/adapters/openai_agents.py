"""A session made of an agent of the OpenAI Agents SDK. Needs the extra `openai-agents`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from agents import (
    Agent,
    RunConfig,
    Runner,
    RunResult,
    RunState,
    ToolApprovalItem,
    TResponseInputItem,
)
from pydantic_core import to_json

from agent_transport.local_session import LocalSession
from agent_transport.local_tool import LocalTool
from agent_transport.permission import NOTHING_ALLOWED, Permission, PermissionPolicy, decide
from agent_transport.session import JsonObject

DENIED = "Denied: a person would have to approve this, and nobody can be asked"


def openai_agents_session(
    agent: Agent[Any],
    *,
    context: Any = None,
    run_config: RunConfig | None = None,
    remembers: bool = False,
    tools: Sequence[LocalTool] = (),
    permissions: PermissionPolicy = NOTHING_ALLOWED,
) -> LocalSession:
    """A session whose turns are runs of `agent`. An output that is no text is answered as JSON.

    A tool of the agent that needs approval is approved if `permissions` allows it and else
    rejected; the model is told so and goes on. With `remembers` each turn sees the turns before
    it, whoever submitted them; without, no caller sees anything of another one's. Whether the SDK
    sends traces to its maker is for `run_config` to say.
    """
    turns = _OpenAiTurns(agent, context, run_config, remembers, permissions)
    return LocalSession(turns, tools=tools, permissions=permissions)


class _OpenAiTurns:
    def __init__(
        self,
        agent: Agent[Any],
        context: Any,
        run_config: RunConfig | None,
        remembers: bool,
        permissions: PermissionPolicy,
    ) -> None:
        self._agent = agent
        self._context = context
        self._run_config = run_config
        self._remembers = remembers
        self._permissions = permissions
        self._history: list[TResponseInputItem] = []

    async def __call__(self, prompt: str) -> str:
        asked: TResponseInputItem = {"role": "user", "content": prompt}
        result = await self._run([*self._history, asked], self._context)
        while result.interruptions:  # the SDK counts on, up to its bound on a run's turns
            result = await self._run(self._decided(result), None)
        if self._remembers:  # only now: a turn that broke or was cancelled leaves no trace
            self._history = result.to_input_list()
        output: Any = result.final_output
        return output if isinstance(output, str) else to_json(output).decode()

    async def _run(
        self, asked: list[TResponseInputItem] | RunState[Any], context: Any
    ) -> RunResult:
        return await Runner.run(self._agent, asked, context=context, run_config=self._run_config)

    def _decided(self, result: RunResult) -> RunState[Any]:
        """The state of an interrupted run, with an answer to each of its questions."""
        state: RunState[Any] = result.to_state()
        for item in result.interruptions:
            if self._is_allowed(item):
                state.approve(item)
            else:
                state.reject(item, rejection_message=DENIED)
        return state

    def _is_allowed(self, item: ToolApprovalItem) -> bool:
        arguments = _arguments(item.arguments)
        if item.name is None or arguments is None:
            return False
        return decide(self._permissions, item.name, arguments) is Permission.ALLOW


def _arguments(text: str | None) -> JsonObject | None:
    """A model's arguments as the policy sees them; None when they are no JSON object."""
    try:
        arguments: Any = json.loads(text or "{}")
    except ValueError:
        return None
    return cast("JsonObject", arguments) if isinstance(arguments, dict) else None
