"""Taking back what was done for callers who were gone before they could hear of it."""

from __future__ import annotations

import asyncio
import logging

from agent_transport.mcp.call import Undo

_log = logging.getLogger(__name__)

UNDO_BOUND_S = 10.0
"""How long `wait` waits for changes that are being taken back."""


class Undoing:
    """Runs undo callbacks beside the request that registered them, which may be cancelled."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, undos: list[Undo]) -> None:
        """Run the callbacks one after the other; a failure is logged and stops no other."""
        task = asyncio.get_running_loop().create_task(_run_undos(undos))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def wait(self) -> None:
        """Return when all that was begun is over, or the bound is reached."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=UNDO_BOUND_S)


async def _run_undos(undos: list[Undo]) -> None:
    for undo in undos:
        try:
            await undo()
        except Exception:
            _log.exception("undo_failed")
