"""The ASGI lifespan of one application: started before it is served, ended after."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from agent_transport.admission.asgi import Application, Message
from agent_transport.errors import ApplicationFailed

_log = logging.getLogger("agent_transport.listener")


class Lifespan:
    """Runs the application's lifespan call in one task that `stop` always ends.

    `state` is what the application left for its requests.
    """

    def __init__(self, app: Application) -> None:
        self.state: dict[str, Any] = {}
        self._app = app
        self._events: asyncio.Queue[Message] = asyncio.Queue()
        self._started = asyncio.Event()
        self._problem: str | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self, bound_s: float) -> None:
        """Start the application.

        Raises:
            ApplicationFailed: it said so, raised, returned, or took longer than `bound_s`.
        """
        self._task = asyncio.create_task(self._run(), name="lifespan")
        self._events.put_nowait({"type": "lifespan.startup"})
        try:
            async with asyncio.timeout(bound_s):
                await self._started.wait()
        except TimeoutError as error:
            raise ApplicationFailed(f"the application did not start in {bound_s:g} s") from error
        if self._problem is not None:
            raise ApplicationFailed(self._problem)

    async def stop(self, bound_s: float) -> None:
        """End the application; after `bound_s` it is cancelled. May be called at any time."""
        task = self._task
        if task is None:
            return
        if self._started.is_set() and self._problem is None:
            self._events.put_nowait({"type": "lifespan.shutdown"})
            await asyncio.wait([task], timeout=bound_s)
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=bound_s)

    async def _run(self) -> None:
        scope = {
            "type": "lifespan",
            "asgi": {"version": "3.0", "spec_version": "2.0"},
            "state": self.state,
        }
        try:
            await self._app(scope, self._events.get, self._send)
        except Exception:
            # The cause is for the log: a refused start tells its owner only that it failed.
            _log.exception("application_lifespan_failed")
            self._problem = self._problem or "the application raised in its lifespan"
        else:
            if not self._started.is_set():
                self._problem = "the application returned from its lifespan without starting"
        finally:
            self._started.set()

    async def _send(self, message: Message) -> None:
        kind: str = message["type"]
        if kind == "lifespan.startup.failed":
            self._problem = message.get("message") or "the application refused to start"
        if kind == "lifespan.shutdown.failed":
            _log.error("application_shutdown_failed message=%s", message.get("message", ""))
        self._started.set()
