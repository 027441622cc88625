"""A session that a test scripts. It suspends where a real one would, and checks its callers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from agent_transport.errors import NotRunReason, SessionBusy, TurnNotRun
from agent_transport.session import (
    CancelSignal,
    JsonObject,
    RuntimeTool,
    ToolEnvelope,
    TurnHandle,
    TurnResult,
)

Invoke = Callable[[str, JsonObject, CancelSignal], Awaitable[ToolEnvelope]]

ECHO = RuntimeTool(
    "echo",
    "Gives its text back",
    {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)


@dataclass(eq=False)
class FakeTurn:
    """One submission; settle it with `answer`, `fail` or `not_run`."""

    turn_id: str
    prompt: str
    driver_id: str
    cancel: CancelSignal
    settled: asyncio.Future[TurnResult] = field(repr=False)

    @property
    def completed(self) -> Awaitable[TurnResult]:
        return asyncio.shield(self.settled)

    def answer(self, response: str) -> None:
        """The turn ran and came to this."""
        self.settled.set_result(TurnResult(response))

    def fail(self, error: Exception) -> None:
        """The turn broke."""
        self.settled.set_exception(error)

    def not_run(self, reason: NotRunReason = NotRunReason.CANCELLED) -> None:
        """The turn is over without having run."""
        if not self.settled.done():
            self.settled.set_exception(TurnNotRun(reason))


class FakeSession:
    """Implements `McpTransportSession`.

    Turns answer `heard: <prompt>` by themselves unless `manual_turns`; then a test takes them from
    `submitted`. A turn whose signal is set is cancelled. Used against its contract (a driver that
    comes twice, arguments that are no JSON object), it raises AssertionError.
    """

    def __init__(
        self, tools: Sequence[RuntimeTool] = (ECHO,), *, manual_turns: bool = False
    ) -> None:
        self.tools = list(tools)
        self.manual_turns = manual_turns
        self.busy = False
        self.submitted: asyncio.Queue[FakeTurn] = asyncio.Queue()
        self.turns: list[FakeTurn] = []
        self.invoked: list[tuple[str, JsonObject]] = []
        self.invoke: Invoke = _echo
        self.catalog_gate = asyncio.Event()
        self.catalog_gate.set()
        self.catalog_asked = asyncio.Event()
        self.catalog_reads = 0

    async def list_runtime_tools(self) -> Sequence[RuntimeTool]:
        """Waits while `catalog_gate` is closed."""
        self.catalog_reads += 1
        self.catalog_asked.set()
        await asyncio.sleep(0)
        await self.catalog_gate.wait()
        return tuple(self.tools)

    async def invoke_runtime_tool(
        self, name: str, arguments: JsonObject, *, cancel: CancelSignal
    ) -> ToolEnvelope:
        """Runs `invoke`, by default an echo of the arguments; busy when `busy`."""
        assert type(arguments) is dict, "arguments are a JSON object"
        json.dumps(arguments, allow_nan=False)
        assert not cancel.is_set(), "a call that is over is not begun"
        await asyncio.sleep(0)
        if self.busy:
            raise SessionBusy("a turn is running")
        self.invoked.append((name, arguments))
        return await self.invoke(name, arguments, cancel)

    async def submit(self, prompt: str, *, driver_id: str, cancel: CancelSignal) -> TurnHandle:
        """Takes the turn on; busy when `busy`."""
        assert prompt, "a prompt is never empty"
        assert driver_id not in {turn.driver_id for turn in self.turns}, "drivers come once"
        await asyncio.sleep(0)
        if self.busy:
            raise SessionBusy("too many turns wait")
        settled: asyncio.Future[TurnResult] = asyncio.get_running_loop().create_future()
        settled.add_done_callback(_look_at)
        turn = FakeTurn(f"turn-{len(self.turns) + 1}", prompt, driver_id, cancel, settled)
        cancel.on_set(turn.not_run)
        self.turns.append(turn)
        self.submitted.put_nowait(turn)
        if not self.manual_turns and not settled.done():
            turn.answer(f"heard: {prompt}")
        return turn


async def _echo(name: str, arguments: JsonObject, cancel: CancelSignal) -> ToolEnvelope:
    return ToolEnvelope(True, result=arguments)


def _look_at(settled: asyncio.Future[TurnResult]) -> None:
    """A turn nobody waits for any more may end in an error without asyncio complaining."""
    if not settled.cancelled():
        settled.exception()
