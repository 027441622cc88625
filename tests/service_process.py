"""The real service as a process of its own: started on a free port, stopped, or killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

PROGRAM = Path(sys.executable).with_name("switchboard")
BOUND_S = 30.0
"""A machine with busy cores starts slowly; a test that waits longer has failed."""


@dataclass
class ServiceProcess:
    """One running `switchboard serve` and what a test asks of it."""

    process: asyncio.subprocess.Process
    data_dir: Path
    log_path: Path
    url: str

    @property
    def port(self) -> int:
        """The port it listens on."""
        return urlsplit(self.url).port or 0

    @property
    def token(self) -> str:
        """The local operator token."""
        return (self.data_dir / "operator-token").read_text("ascii").strip()

    def log(self) -> str:
        """Everything logged so far."""
        return self.log_path.read_text("utf-8")

    def operator(self) -> httpx.AsyncClient:
        """A client of the API as the local operator."""
        return httpx.AsyncClient(
            base_url=f"{self.url}/api/v1",
            headers={"authorization": f"Bearer {self.token}"},
            timeout=BOUND_S,
            trust_env=False,
        )

    async def vend(self, *queues: str, agent: str = "scout", **fields: Any) -> dict[str, Any]:
        """A new endpoint, as the API reveals it."""
        body = {"agent": agent, "queues": list(queues) or ["inbox"], **fields}
        async with self.operator() as client:
            answer = await client.post("/endpoints", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def add(self, title: str = "Say hello", queue: str = "inbox", **fields: Any) -> str:
        """A new todo's id."""
        async with self.operator() as client:
            answer = await client.post("/todos", json={"title": title, "queue": queue, **fields})
        assert answer.status_code == 201, answer.text
        return answer.json()["todo"]["id"]

    async def todo(self, todo_id: str) -> dict[str, Any]:
        """A todo with its history."""
        async with self.operator() as client:
            return (await client.get(f"/todos/{todo_id}")).json()["todo"]

    async def command(self, *arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        """A command against this service: exit code, standard output, standard error."""
        return await run_command(*arguments, "--data-dir", str(self.data_dir), stdin=stdin)

    async def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return await self._ended()

    async def kill(self) -> None:
        """SIGKILL: no code of the service runs any more."""
        self.process.kill()
        await self._ended()

    async def _ended(self) -> int:
        async with asyncio.timeout(BOUND_S):
            return await self.process.wait()


@asynccontextmanager
async def serving(
    directory: Path,
    *,
    port: int = 0,
    settings: Mapping[str, str] | None = None,
    program: Path = PROGRAM,
) -> AsyncGenerator[ServiceProcess]:
    """A service on the data of `directory`. It is killed at the end if it still runs."""
    data_dir, log_path = directory / "data", directory / "log"
    with log_path.open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *(program, "serve", "--port", str(port), "--data-dir", str(data_dir), "--json"),
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env=_environment(settings or {}),
            cwd=directory,
        )
    try:
        yield ServiceProcess(process, data_dir, log_path, await _read_url(process))
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def run_command(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
    """A command in an environment without settings."""
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=_environment({}),
    )
    async with asyncio.timeout(BOUND_S):
        out, err = await process.communicate(stdin)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def _read_url(process: asyncio.subprocess.Process) -> str:
    """The local URL in the document that `serve --json` prints once requests are served."""
    assert process.stdout is not None
    async with asyncio.timeout(BOUND_S):
        text = await process.stdout.readuntil(b"}")
    url: str = json.loads(text)["local_url"]
    async with httpx.AsyncClient(trust_env=False, timeout=BOUND_S) as client:
        answer = await client.get(f"{url}/readyz")
    assert answer.status_code == 200, answer.text
    return url


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    own = {name: text for name, text in os.environ.items() if not name.startswith("SWITCHBOARD_")}
    return own | {f"SWITCHBOARD_{name.upper()}": text for name, text in settings.items()}
