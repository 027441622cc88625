"""The TypeScript SDKs, both generations, against a running service."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.interop import node
from tests.service_process import ServiceProcess, serving

V1, V2 = node.INTEROP / "agent_v1.mjs", node.INTEROP / "agent_v2.mjs"
CORE = {"list_todos", "claim", "complete", "fail", "heartbeat"}
REFUSED = {"status": 400, "code": -32022}


@asynccontextmanager
async def working(
    script: Path,
    vended: Mapping[str, Any],
    directory: Path,
    *,
    bells: int,
    mode: str = "",
    name: str = "interop",
) -> AsyncGenerator[node.Program]:
    env = {
        "ENDPOINT_URL": vended["url"],
        "CREDENTIAL": vended["credential"],
        "CLIENT_NAME": name,
        "ERA_MODE": mode,
        "BELLS": str(bells),
    }
    async with node.started(script, cwd=directory, env=env) as program:
        yield program


async def hears_and_finishes(program: node.Program, service: ServiceProcess, todo_id: str) -> None:
    rung = (await program.told())["rung"]
    assert rung["meta"]["todo_id"] == todo_id
    assert "Say hello" in rung["content"]
    assert await program.told() == {"completed": todo_id}
    assert (await service.todo(todo_id))["state"] == "done"


@pytest.mark.parametrize(
    ("script", "mode", "name", "probe"),
    [
        (V1, "", "interop", None),
        (V2, "", "interop", None),
        (V2, "auto", "claude-code", REFUSED),
    ],
)
async def test_an_agent_with_a_session_is_rung_when_it_comes_and_while_it_listens(
    script: Path, mode: str, name: str, probe: object, tmp_path: Path
) -> None:
    async with serving(tmp_path) as service:
        vended = await service.vend()
        waiting = await service.add()
        async with working(script, vended, tmp_path, bells=2, mode=mode, name=name) as program:
            opened = await program.told()
            assert (opened["era"], opened["probe"]) == ("2025-11-25", probe)
            assert set(opened["tools"]) >= CORE
            await hears_and_finishes(program, service, waiting)
            await hears_and_finishes(program, service, await service.add())
            ended = await program.ended()
            assert (ended.code, ended.err) == (0, "")


async def test_an_agent_that_finds_the_new_era_lists_claims_and_completes_in_it(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as service:
        vended = await service.vend()
        waiting = await service.add()
        async with working(V2, vended, tmp_path, bells=0, mode="auto") as program:
            opened = await program.told()
            assert opened["era"] == "2026-07-28"
            assert opened["probe"] == {"status": 200, "code": None}
            assert set(opened["tools"]) >= CORE
            assert await program.told() == {"completed": waiting}
            assert (await program.ended()).code == 0
        assert (await service.todo(waiting))["state"] == "done"
