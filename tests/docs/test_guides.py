"""What the guides tell to type or to write does what they say."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client

from agent_transport.mcp import McpLoopbackHost
from tests.docs.code_blocks import GUIDE, PAGES, ROOT, code_blocks
from tests.docs.terminal import as_pattern, checkout_with_service, typed
from tests.service_process import BOUND_S, ServiceProcess, serving
from tests.switchboard.test_service_process import official_client

WITHOUT_A_DOORBELL = GUIDE / "without-a-doorbell.md"
LIBRARY = ROOT / "packages" / "agent-transport" / "README.md"
Work = Callable[[dict[str, Any]], Awaitable[Any]]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_a_page_with_something_to_run_is_run_by_a_test(page: Path) -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    assert not code_blocks(page, "sh", "python") or any(f'"{page.name}"' in s for s in sources)


async def test_listening_in_place_of_an_agent_shows_that_the_service_rings(tmp_path: Path) -> None:
    (commands,) = code_blocks(GUIDE / "claude-code.md", "sh")
    *_, seen = code_blocks(GUIDE / "claude-code.md", "text")
    path = f"{tmp_path}/.venv/bin"
    async with (
        checkout_with_service(tmp_path) as service,
        typed(
            f'PATH="{path}:$PATH"\n{commands.text}',
            tmp_path,
            SWITCHBOARD_URL=service.url,
            SWITCHBOARD_TOKEN=service.token,
        ) as terminal,
    ):
        await terminal.read_until("rung for td_")
        await terminal.press_ctrl_c()
        shown = await terminal.finish()
    assert re.search(as_pattern(seen.text), shown), shown
    assert "Traceback" not in shown


class Agent:
    """The page's code with a client of ours, which tells when a heartbeat was answered."""

    def __init__(self, client: Client) -> None:
        (block,) = code_blocks(WITHOUT_A_DOORBELL, "python")
        self._page: dict[str, Any] = {}
        exec(compile(block.text, WITHOUT_A_DOORBELL.name, "exec"), self._page)
        self._page["BEAT_SECONDS"] = 0.01
        self._client = client
        self.beaten = asyncio.Event()

    async def call_tool(self, tool: str, arguments: dict[str, Any]) -> Any:
        result = await self._client.call_tool(tool, arguments)
        if tool == "heartbeat":
            self.beaten.set()
        return result

    async def take_one(self, work: Work) -> None:
        async with asyncio.timeout(BOUND_S):
            await self._page["take_one"](self, work)


async def test_the_loop_of_the_page_completes_work_and_holds_it_meanwhile(tmp_path: Path) -> None:
    async def work(todo: dict[str, Any]) -> str:
        await agent.beaten.wait()
        return todo["title"]

    async with serving(tmp_path) as service, official_client(await service.vend()) as client:
        agent = Agent(client)
        todo_id = await service.add("Say hello")
        await agent.take_one(work)
        todo = await service.todo(todo_id)
    assert (todo["state"], todo["result"]) == ("done", "Say hello")
    assert "heartbeat" in [event["step"] for event in todo["events"]]


async def test_the_loop_of_the_page_fails_work_that_raises(tmp_path: Path) -> None:
    async def work(todo: dict[str, Any]) -> None:
        raise OSError

    async with serving(tmp_path) as service, official_client(await service.vend()) as client:
        todo_id = await service.add()
        await Agent(client).take_one(work)
        todo = await service.todo(todo_id)
    assert (todo["state"], todo["failures"]) == ("pending", 1)


async def test_the_loop_of_the_page_stops_work_that_was_taken_away(tmp_path: Path) -> None:
    stopped = asyncio.Event()

    async def cancel(service: ServiceProcess, todo_id: str) -> None:
        async with service.operator() as operator:
            (await operator.post(f"/todos/{todo_id}/cancel")).raise_for_status()

    async def work(todo: dict[str, Any]) -> None:
        await cancel(service, todo["id"])
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with serving(tmp_path) as service, official_client(await service.vend()) as client:
        todo_id = await service.add()
        await Agent(client).take_one(work)
        async with asyncio.timeout(BOUND_S):
            await stopped.wait()
        todo = await service.todo(todo_id)
    assert todo["state"] == "cancelled"


async def test_the_librarys_page_serves_an_agent_that_a_client_can_use() -> None:
    (block,) = code_blocks(LIBRARY, "python")
    page: dict[str, Any] = {}
    exec(compile(block.text, LIBRARY.name, "exec"), page)
    host = McpLoopbackHost(page["session"])
    listening = await host.start()
    try:
        vended = {"url": listening.url, "credential": listening.token}
        async with asyncio.timeout(BOUND_S), official_client(vended) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            counted = await client.call_tool("count_words", {"text": "one two"})
            answered = await client.call_tool("agent_submit", {"prompt": "hello"})
    finally:
        await host.stop()
    assert tools == ["count_words", "agent_submit"]
    assert not counted.is_error
    assert '"result":2' in text_of(counted)
    assert text_of(answered) == "You said: hello"


def text_of(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_code_block_says_what_language_it_is_in(page: Path) -> None:
    fences = re.findall(r"^ *```(\w*)$", page.read_text("utf-8"), re.M)
    assert all(fences[::2])
    assert not any(fences[1::2])
