"""Writes the reference of the tools from what a running service tells an agent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from switchboard.domain.endpoint import Verb
from tests.raw_agent import RawAgent
from tests.service_process import serving


@dataclass(frozen=True, slots=True)
class Told:
    """What an agent is told that was granted every verb."""

    instructions: str
    tools: tuple[dict[str, Any], ...]


async def told(directory: Path) -> Told:
    """Ask a service of its own, with its data in `directory`."""
    async with serving(directory) as service:
        vended = await service.vend("inbox", verbs=[str(verb) for verb in Verb])
        agent = RawAgent(vended["url"], vended["credential"], service.operator())
        async with agent.http:
            handshake = await agent.initialize()
            answer = (await agent.post("tools/list")).json()
    return Told(handshake["instructions"], tuple(answer["result"]["tools"]))


def tool_reference(told: Told) -> str:
    """A section for each tool, then the instructions."""
    lines = [line for tool in told.tools for line in _section(tool)]
    served = {tool["name"] for tool in told.tools}
    missing = ", ".join(f"`{verb}`" for verb in Verb if verb not in served)
    if missing:
        lines += [f"Can be granted, but is not served by this version: {missing}.", ""]
    lines += ["### What a model is told first", "", f"> {told.instructions}"]
    return "\n".join(lines)


def _section(tool: dict[str, Any]) -> Iterator[str]:
    schema = tool["inputSchema"]
    hints = [name.removesuffix("Hint") for name, on in tool["annotations"].items() if on is True]
    yield from (f"### `{tool['name']}`", "")
    yield f"{tool['title']}. {tool['description']}" + (f" ({', '.join(hints)})" if hints else "")
    yield from ("", "| argument | type | |", "|---|---|---|")
    for name, one in schema["properties"].items():
        needed = " (required)" if name in schema.get("required", ()) else ""
        yield f"| `{name}`{needed} | {_type(one)} | {one.get('description', '')} |"
    yield ""


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("type", "any JSON")
    text = kind if isinstance(kind, str) else json.dumps(kind)
    if "minimum" in schema:
        return f"{text}, {schema['minimum']} to {schema['maximum']}"
    return text
