"""A Pydantic AI agent that others can use. Needs the extras `mcp` and `pydantic-ai`.

    MODEL=anthropic:claude-sonnet-4-5 agent-transport serve examples.served_pydantic_ai:session

Without MODEL it is the library's test model, which needs no key and answers nonsense.
"""

from __future__ import annotations

import os

from pydantic_ai import Agent

from agent_transport.adapters.pydantic_ai import pydantic_ai_session
from agent_transport.permission import Permissions

agent = Agent(os.environ.get("MODEL", "test"), instructions="You look after a small garden.")


@agent.tool_plain
def beds() -> list[str]:
    """The beds of the garden."""
    return ["roses", "beans"]


@agent.tool_plain(requires_approval=True)
def water(bed: str) -> str:
    """Water one bed."""
    return f"watered {bed}"


# Nobody can be asked while the agent is served: what is not allowed here is denied to the model.
session = pydantic_ai_session(agent, permissions=Permissions({"water": "allow"}))
