"""The MCP Inspector's command line with a served agent, over stdio and on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent_transport.cli.served import PROGRAM, serving, write_agent
from tests.interop import node
from tests.interop.test_inspector import INSPECTOR

ERAS = ["legacy", "auto", "modern"]
CALL = ("--method", "tools/call", "--tool-name")


async def inspect(directory: Path, era: str, *words: str) -> dict[str, Any]:
    ended = await node.run(
        node.module(INSPECTOR), "--cli", *words, "--protocol-era", era, cwd=directory
    )
    assert ended.code == 0, ended.out + ended.err
    return json.loads(ended.out)


async def assert_can_use(directory: Path, era: str, *where: str) -> None:
    """List the tools, call one, submit a prompt."""
    listed = await inspect(directory, era, *where, "--method", "tools/list")
    assert [tool["name"] for tool in listed["tools"]] == ["read", "write", "agent_submit"]
    read = await inspect(directory, era, *where, *CALL, "read", "--tool-args-json", '{"name": "x"}')
    assert read["content"][0]["text"] == '{"success":true,"result":{"read":"x"}}'
    asked = await inspect(
        directory, era, *where, *CALL, "agent_submit", "--tool-args-json", '{"prompt": "hi"}'
    )
    assert asked["content"][0]["text"] == "heard: hi"


@pytest.mark.parametrize("era", ERAS)
async def test_the_inspector_uses_an_agent_over_stdio(era: str, tmp_path: Path) -> None:
    write_agent(tmp_path)
    await assert_can_use(tmp_path, era, PROGRAM, "serve", "agent:session")


@pytest.mark.parametrize("era", ERAS)
async def test_the_inspector_uses_an_agent_on_this_machine(era: str, tmp_path: Path) -> None:
    write_agent(tmp_path)
    async with serving(tmp_path, "agent:session", "--http-token-file", "token") as served:
        bearer = f"Authorization: Bearer {(tmp_path / 'token').read_text().strip()}"
        where = (served.ready["url"], "--transport", "http", "--header", bearer)
        await assert_can_use(tmp_path, era, *where)
