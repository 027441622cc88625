"""The stdio transport over two pipes: what is answered, what is survived."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_transport.mcp.lines import MAX_LINE_BYTES, LineReader, LineWriter
from agent_transport.mcp.standard_streams import Wire
from agent_transport.mcp.stdio import create_mcp_transport
from agent_transport.session import JsonObject, McpTransportSession, RuntimeTool
from agent_transport.testing import FakeSession
from tests.agent_transport.mcp.agent_server import INITIALIZE
from tests.agent_transport.mcp.pipes import PipePeer, pipe_peer
from tests.agent_transport.mcp.wire_client import BOUND_S
from tests.specification import requirement


@asynccontextmanager
async def stdio(session: McpTransportSession) -> AsyncGenerator[PipePeer]:
    with pipe_peer() as peer:
        transport = create_mcp_transport(wire=peer.wire)
        transport.attach(session)
        await transport.start()
        try:
            yield peer
        finally:
            await transport.stop()


MALFORMED: list[tuple[bytes, int, Any]] = [
    (b"{", -32700, None),
    (b"no json at all", -32700, None),
    (b"\xff\xfe", -32700, None),
    (b"[" * 100_00, -32700, None),
    (b"7", -32600, None),
    (b"[]", -32600, None),
    (b'{"id":7}', -32600, 7),
    (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7),
    (b'{"jsonrpc":"2.0","id":7,"method":3}', -32600, 7),
    (b'{"jsonrpc":"2.0","id":"a","method":"ping","params":[]}', -32600, "a"),
]


@pytest.mark.parametrize(("line", "code", "request_id"), MALFORMED)
async def test_a_malformed_line_is_answered_and_ends_nothing(
    line: bytes, code: int, request_id: Any
) -> None:
    async with stdio(FakeSession()) as peer:
        for opened in (False, True):
            peer.send(line)
            told = json.loads(await peer.next_line() or b"")
            assert (told["error"]["code"], told["id"]) == (code, request_id)
            if not opened:
                await peer.open_session()
        peer.call("echo", request_id=9, text="x")
        assert not (await peer.answer(9))["result"]["isError"]


async def test_empty_lines_are_skipped_and_a_carriage_return_is_no_content() -> None:
    async with stdio(FakeSession()) as peer:
        peer.send(b"\n  \n\r")
        peer.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r')
        assert json.loads(await peer.next_line() or b"") == {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {},
        }


async def test_a_line_without_an_end_is_cut_and_answered() -> None:
    async with stdio(FakeSession()) as peer:
        flood = b'{"a":"' + b"x" * (MAX_LINE_BYTES + 200_000) + b"\n"
        view, writing = memoryview(flood), LineWriter(peer.to_transport)
        await writing.write(bytes(view[:-1]))
        async with asyncio.timeout(BOUND_S):
            await writing.drain(BOUND_S)
        writing.close()
        assert json.loads(await peer.next_line() or b"")["error"]["code"] == -32700
        peer.ask("ping", request_id=2)
        assert (await peer.answer(2))["result"] == {}


@requirement("agent-transport/call/cancel-spares-others")
async def test_a_cancelled_request_is_not_answered_and_leaves_the_other() -> None:
    session = FakeSession(manual_turns=True)
    async with stdio(session) as peer:
        await peer.open_session()
        peer.call("agent_submit", request_id=2, prompt="a")
        first = await session.submitted.get()
        peer.call("agent_submit", request_id=3, prompt="b")
        second = await session.submitted.get()
        peer.tell("notifications/cancelled", {"requestId": 2})
        async with asyncio.timeout(BOUND_S):
            await first.cancel.wait()
        assert not second.cancel.is_set()
        second.answer("done")
        answered = json.loads(await peer.next_line() or b"")
        assert (answered["id"], answered["result"]["content"][0]["text"]) == (3, "done")


MODERN: JsonObject = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def test_a_cancelled_request_of_the_new_era_is_not_answered_and_ends_its_turn() -> None:
    session = FakeSession(manual_turns=True)
    async with stdio(session) as peer:
        params = {"name": "agent_submit", "arguments": {"prompt": "a"}, "_meta": MODERN}
        peer.ask("tools/call", params, request_id=1)
        turn = await session.submitted.get()
        peer.tell("notifications/cancelled", {"requestId": 1})
        async with asyncio.timeout(BOUND_S):
            await turn.cancel.wait()
        peer.ask("tools/list", {"_meta": MODERN}, request_id=2)
        assert json.loads(await peer.next_line() or b"")["id"] == 2


async def test_a_client_of_the_new_era_is_served_without_a_handshake() -> None:
    async with stdio(FakeSession()) as peer:
        peer.ask("server/discover", {"_meta": MODERN}, request_id=1)
        assert (await peer.answer(1))["result"]["capabilities"] == {"tools": {}}
        peer.ask("tools/list", {"_meta": MODERN}, request_id=2)
        assert len((await peer.answer(2))["result"]["tools"]) == 2
        peer.ask("initialize", INITIALIZE, request_id=3)
        assert (await peer.answer(3))["error"]["code"] == -32022


async def test_an_answer_that_is_no_json_is_an_error_and_ends_nothing() -> None:
    half = RuntimeTool("half", "half a pair \ud83d", {"type": "object"})
    async with stdio(FakeSession([half])) as peer:
        await peer.open_session()
        peer.ask("tools/list", request_id=2)
        assert (await peer.answer(2))["error"] == {"code": -32603, "message": "Internal error"}
        peer.call("half", request_id=3)
        assert "result" in await peer.answer(3)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("tool", ["echo", "agent_submit"])
async def test_arguments_that_are_not_json_are_a_visible_error_and_reach_nobody(
    value: str, tool: str
) -> None:
    session = FakeSession()
    async with stdio(session) as peer:
        await peer.open_session()
        params = f'{{"name":"{tool}","arguments":{{"text":[{value}]}}}}'
        peer.send(f'{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{params}}}'.encode())
        answered = (await peer.answer(2))["result"]
    assert (answered["content"][0]["text"], answered["isError"]) == (
        "The arguments are not JSON",
        True,
    )
    assert (session.invoked, session.turns) == ([], [])


async def test_a_large_answer_comes_whole_though_the_pipe_is_small() -> None:
    session, text = FakeSession(), "ü" * 2_000_000
    async with stdio(session) as peer:
        await peer.open_session()
        whole = {"name": "agent_submit", "arguments": {"prompt": text}}
        message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": whole}
        writing = LineWriter(peer.to_transport)
        await writing.write(json.dumps(message, ensure_ascii=False).encode())
        answered = (await peer.answer(2))["result"]
        writing.close()
        assert answered["content"][0]["text"] == "heard: " + text


async def test_a_line_whose_writer_is_cancelled_is_written_whole() -> None:
    with pipe_peer() as peer:
        writer = LineWriter(peer.wire.outbound)
        big, after = b"a" * 500_000, b"after"
        writing = asyncio.ensure_future(writer.write(big))
        await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        following = asyncio.ensure_future(writer.write(after))
        assert [await peer.next_line(), await peer.next_line()] == [big, after]
        await following
        writer.close()


async def test_a_file_is_read_to_its_end_and_a_last_line_needs_no_end(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\n" + b"x" * 300_000 + b"\ntwo\nthree")
    fd = os.open(path, os.O_RDONLY)
    try:
        reader = LineReader(fd)
        reader.open()
        lines = [await reader.line() for _ in range(5)]
        reader.close()
    finally:
        os.close(fd)
    assert lines == [b"one", b"x" * 300_000, b"two", b"three", None]


async def test_a_wire_that_is_given_stays_open_after_the_end() -> None:
    with pipe_peer() as peer:
        for _ in range(2):
            transport = create_mcp_transport(wire=Wire(peer.wire.inbound, peer.wire.outbound))
            transport.attach(FakeSession())
            await transport.start()
            peer.ask("ping", request_id=1)
            assert (await peer.answer(1))["result"] == {}
            await transport.stop()
