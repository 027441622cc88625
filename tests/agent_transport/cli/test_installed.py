"""The library's wheel in an empty environment: its page's example and its program work there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.docs.code_blocks import GUIDE, ROOT, code_blocks
from tests.packaging.installation import BOUND_S, Installation, build_wheels, install, locked

LIBRARY = "switchboard-agent-transport"
PAGE = ROOT / "packages" / "agent-transport" / "README.md"

USE = """
import asyncio, httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

async def use():
    host = McpLoopbackHost(session)
    listening = await host.start()
    bearer = {"Authorization": f"Bearer {listening.token}"}
    async with httpx2.AsyncClient(headers=bearer, trust_env=False) as http:
        async with Client(streamable_http_client(listening.url, http_client=http)) as client:
            print(*(tool.name for tool in (await client.list_tools()).tools))
            print((await client.call_tool("agent_submit", {"prompt": "hello"})).content[0].text)
    await host.stop()

asyncio.run(use())
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """An environment with the wheel and what its extras `mcp` and `jwt` ask for."""
    wheel = build_wheels(tmp_path_factory.mktemp("wheels"))[LIBRARY]
    directory = tmp_path_factory.mktemp("library") / "environment"
    return install(directory, Path(f"{wheel}[mcp,jwt]"))


def test_the_example_of_the_librarys_page_serves_its_agent(installed: Installation) -> None:
    (example,) = code_blocks(PAGE, "python")
    shown = installed.python("-c", example.text + USE)
    assert shown.splitlines() == ["count_words agent_submit", "You said: hello"]


def test_the_installed_program_serves_the_agent_of_the_first_guide(
    installed: Installation, tmp_path: Path
) -> None:
    (agent,) = code_blocks(GUIDE / "agent-over-stdio.md", "python")
    (tmp_path / "my_agent.py").write_text(agent.text)
    programs = installed.directory / "bin"
    command = ("--command", programs / "agent-transport", "serve", "my_agent:session")
    ended = subprocess.run(
        [programs / "python", ROOT / "examples" / "ask_agent.py", "Hello", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "answer: You said: Hello"


def test_the_extras_ask_for_nothing_that_is_not_locked(installed: Installation) -> None:
    theirs = {name: version for name, version in installed.packages.items() if name != LIBRARY}
    assert theirs
    assert theirs.items() <= locked().items()
    assert not theirs.keys() & {"openai-agents", "pydantic-ai-slim", "fastmcp", "fastapi"}
