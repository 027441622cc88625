"""The MCP Inspector's command line against a running service, in each era it can be told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.interop import node
from tests.service_process import serving

INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
CORE = {"list_todos", "claim", "complete", "fail", "heartbeat"}


async def inspect(
    vended: Mapping[str, Any], era: str, directory: Path, *arguments: str
) -> dict[str, Any]:
    ended = await node.run(
        node.module(INSPECTOR),
        *("--cli", vended["url"], "--transport", "http", "--protocol-era", era),
        *("--header", f"Authorization: Bearer {vended['credential']}", *arguments),
        cwd=directory,
    )
    assert ended.code == 0, ended.out + ended.err
    return json.loads(ended.out)


async def call(
    vended: Mapping[str, Any], era: str, directory: Path, tool: str, **arguments: str
) -> dict[str, Any]:
    given = json.dumps(arguments)
    method = ("--method", "tools/call", "--tool-name", tool, "--tool-args-json", given)
    result = await inspect(vended, era, directory, *method)
    assert not result.get("isError"), result
    return result["structuredContent"]


@pytest.mark.parametrize("era", ["legacy", "auto", "modern"])
async def test_the_inspector_lists_claims_and_completes(era: str, tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        vended = await service.vend()
        waiting = await service.add()
        listed = await inspect(vended, era, tmp_path, "--method", "tools/list")
        assert {tool["name"] for tool in listed["tools"]} >= CORE
        claimed = await call(vended, era, tmp_path, "claim")
        assert claimed["id"] == waiting
        token = claimed["lease_token"]
        await call(vended, era, tmp_path, "complete", id=waiting, lease_token=token)
        assert (await service.todo(waiting))["state"] == "done"


async def test_the_schemas_of_all_tools_are_portable(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        vended = await service.vend()
        await inspect(vended, "legacy", tmp_path, "--method", "tools/list", "--strict")
