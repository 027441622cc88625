"""An agent of the OpenAI Agents SDK that others can use. Needs `mcp` and `openai-agents`.

OPENAI_API_KEY=… agent-transport serve examples.served_openai_agents:session
"""

from __future__ import annotations

from agents import Agent, RunConfig, function_tool

from agent_transport.adapters.openai_agents import openai_agents_session
from agent_transport.permission import Permissions


@function_tool
def beds() -> list[str]:
    """The beds of the garden."""
    return ["roses", "beans"]


@function_tool(needs_approval=True)
def water(bed: str) -> str:
    """Water one bed."""
    return f"watered {bed}"


agent = Agent(name="gardener", instructions="You look after a small garden.", tools=[beds, water])
# Nobody can be asked while the agent is served: what is not allowed here is denied to the model.
session = openai_agents_session(
    agent,
    run_config=RunConfig(tracing_disabled=True),
    permissions=Permissions({"water": "allow"}),
)
