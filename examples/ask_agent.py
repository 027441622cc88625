"""Ask a served agent: show its tools, submit one prompt, print the answer.

    python examples/ask_agent.py PROMPT --command agent-transport serve my_agent:session
    python examples/ask_agent.py PROMPT --ready run/ready

`--ready` is a file with the line that `agent-transport serve` prints when it listens.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client


async def ask(client: Client, prompt: str) -> None:
    """Print what the agent offers and what it answers. The tool for prompts stands last."""
    tools = (await client.list_tools()).tools
    print("tools:", ", ".join(tool.name for tool in tools))
    result = await client.call_tool(tools[-1].name, {"prompt": prompt})
    text = "".join(getattr(block, "text", "") for block in result.content)
    print("error:" if result.is_error else "answer:", text)


async def ask_program(command: Sequence[str], prompt: str) -> None:
    program, *words = command
    parameters = StdioServerParameters(command=program, args=words, env=dict(os.environ))
    async with Client(stdio_client(parameters)) as client:
        await ask(client, prompt)


async def ask_on_this_machine(url: str, token: str, prompt: str) -> None:
    bearer = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=bearer, timeout=600) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        await ask(client, prompt)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("prompt")
    parser.add_argument("--ready", type=Path)
    parser.add_argument("--command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if given.command:
        asyncio.run(ask_program(given.command, given.prompt))
    elif given.ready:
        ready = json.loads(given.ready.read_text("utf-8"))
        token = Path(ready["token_file"]).read_text("utf-8").strip()
        asyncio.run(ask_on_this_machine(ready["url"], token, given.prompt))
    else:
        parser.error("tell where the agent is: --ready or --command")


if __name__ == "__main__":
    main()
