"""The example agent as a reader runs it: how it ends by Ctrl-C, and by a refusal."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.service_process import BOUND_S, ServiceProcess, serving

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent.py"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncGenerator[ServiceProcess]:
    async with serving(tmp_path) as running:
        yield running


@asynccontextmanager
async def example_for(vended: dict[str, Any]) -> AsyncGenerator[Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(EXAMPLE)), stdin=PIPE, stdout=PIPE, stderr=STDOUT
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(vended).encode())
    process.stdin.write_eof()
    try:
        async with asyncio.timeout(BOUND_S):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def said_until(process: Process, beginning: str) -> None:
    assert process.stdout is not None
    while not (line := (await process.stdout.readline()).decode()).startswith(beginning):
        assert line, f"it ended before it said {beginning!r}"


async def rest_of(process: Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.read()).decode()


@pytest.mark.parametrize("at", ["waiting for work", "completed"])
async def test_ctrl_c_ends_the_example_with_a_word_and_no_traceback(
    service: ServiceProcess, at: str
) -> None:
    vended = await service.vend()
    await service.add()
    async with example_for(vended) as agent:
        await said_until(agent, at)
        agent.send_signal(signal.SIGINT)
        assert "Traceback" not in (said := await rest_of(agent))
        assert said.endswith("bye\n")
        assert await agent.wait() == 0


async def test_an_example_that_may_not_claim_says_why_it_ends(service: ServiceProcess) -> None:
    async with example_for(await service.vend(verbs=["list_todos"])) as agent:
        said = await rest_of(agent)
        assert await agent.wait() == 1
    assert "claim: " in said
    assert "forbidden" in said
    assert "Traceback" not in said
