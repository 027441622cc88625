"""A local session whose turns and tools wait for the test."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from agent_transport.local_session import LocalSession
from agent_transport.local_tool import LocalTool
from agent_transport.permission import Permissions
from agent_transport.session import JsonObject, ToolEnvelope, TurnHandle
from agent_transport.testing import FakeClock, ManualCancel

BOUND_S = 10.0


class Held:
    """A session in which nothing goes on before the test says so."""

    def __init__(self, *tools: LocalTool, **settings: Any) -> None:
        self.clock = FakeClock()
        self.begun: asyncio.Queue[str] = asyncio.Queue()
        self.gates: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.prompts: list[str] = []
        self.cancelled: list[str] = []
        self.most_at_once = self.at_once = 0
        held = LocalTool("held", "Waits for the test", self.hold)
        settings.setdefault("permissions", Permissions({"held": "allow"}))
        self.session = LocalSession(
            self.answer, tools=(held, *tools), sleep=self.clock.sleep, **settings
        )

    async def answer(self, prompt: str) -> str:
        self.prompts.append(prompt)
        await self._wait(prompt)
        return f"heard {prompt}"

    async def hold(self, arguments: JsonObject) -> str:
        await self._wait("tool")
        return "held"

    async def _wait(self, what: str) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.begun.put_nowait(what)
        try:
            await self.gates[what].wait()
        except asyncio.CancelledError:
            self.cancelled.append(what)
            raise
        finally:
            self.at_once -= 1

    async def submit(
        self, prompt: str, driver_id: str | None = None, cancel: ManualCancel | None = None
    ) -> TurnHandle:
        driver_id = driver_id or f"driver of {prompt}"
        return await self.session.submit(
            prompt, driver_id=driver_id, cancel=cancel or ManualCancel()
        )

    async def invoke(self, name: str = "held", **arguments: Any) -> ToolEnvelope:
        return await self.session.invoke_runtime_tool(name, arguments, cancel=ManualCancel())

    async def until_begun(self) -> str:
        async with asyncio.timeout(BOUND_S):
            return await self.begun.get()

    def release(self, *what: str) -> None:
        for name in what:
            self.gates[name].set()


async def response_of(turn: TurnHandle) -> str:
    async with asyncio.timeout(BOUND_S):
        return (await turn.completed).response
