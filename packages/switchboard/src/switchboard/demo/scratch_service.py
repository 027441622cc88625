"""A service on a free loopback port, with its data in a temporary directory."""

from __future__ import annotations

import asyncio
import json
import tempfile
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from switchboard.data_directory import DataDirectory
from switchboard.demo.child import child, stop, switchboard
from switchboard.demo.happened import DidNotHappen, happened

LOG_LINES_SHOWN = 5


@dataclass
class ScratchService:
    """One running `switchboard serve`."""

    directory: Path
    data: DataDirectory
    process: Process
    url: str

    def is_gone(self) -> bool:
        """Whether neither the process nor the directory is left."""
        return self.process.returncode is not None and not self.directory.exists()

    async def count_todos(self) -> Counter[str]:
        """How many todos are in which state, as `switchboard todo list` tells."""
        states = ("pending", "claimed", "done", "failed", "cancelled")
        options = [part for state in states for part in ("--state", state)]
        where = ("--data-dir", str(self.data.path))
        command = switchboard("todo", "list", "--json", "--limit", "200", *options, *where)
        async with child(*command, directory=self.directory) as listing:
            out, _ = await listing.communicate()
        happened(listing.returncode == 0, "todo list answered")
        return Counter(todo["state"] for todo in json.loads(out)["todos"])


@asynccontextmanager
async def scratch_service(say: Callable[[str], None]) -> AsyncGenerator[ScratchService]:
    """Serve within the block; afterwards neither the process nor the directory is left."""
    with tempfile.TemporaryDirectory(prefix="switchboard-demo-") as name:
        directory = Path(name)
        log_path, data = directory / "log", DataDirectory(directory / "data")
        command = switchboard("serve", "--port", "0", "--data-dir", str(data.path), "--json")
        try:
            with log_path.open("wb") as log:
                async with child(*command, directory=directory, log=log) as process:
                    url = await _url(process)
                    async with _alive(process):
                        yield ScratchService(directory, data, process, url)
                    await stop(process)
        except Exception:
            for line in log_path.read_text("utf-8", "replace").splitlines()[-LOG_LINES_SHOWN:]:
                say(f"the service logged: {line}")
            raise


@asynccontextmanager
async def _alive(process: Process) -> AsyncGenerator[None]:
    """Break the block off when the process ends: nothing would come that is waited for."""

    async def watch() -> None:
        code = await process.wait()
        raise DidNotHappen(f"the service ended by itself, with {code}")

    async with asyncio.TaskGroup() as group:
        watching = group.create_task(watch())
        yield
        watching.cancel()


async def _url(process: Process) -> str:
    """The URL in the document that `serve --json` prints once it serves."""
    assert process.stdout is not None
    try:
        text = await process.stdout.readuntil(b"}")
    except EOFError as error:
        raise DidNotHappen("the service ended before it served") from error
    return json.loads(text)["local_url"]
