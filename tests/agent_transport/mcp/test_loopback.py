"""The loopback host on raw sockets: who is let in, in which order the others are refused."""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import secrets
import socket
from contextlib import AsyncExitStack
from typing import Any

import pytest

from agent_transport.errors import ConfigurationError
from agent_transport.mcp import loopback as loopback_module
from agent_transport.mcp.loopback import LIMITS, McpLoopbackHost
from agent_transport.testing import FakeSession
from tests.agent_transport.mcp.hosts import (
    LIST,
    Loopback,
    loopback,
    raw,
    refusal_of,
    tool_call,
)
from tests.agent_transport.mcp.wire_client import BOUND_S, exchange, read_head
from tests.specification import requirement

WRONG = "0" * 64


@requirement("agent-transport/loopback/binds-127")
async def test_only_127_0_0_1_is_listened_on() -> None:
    async with loopback(FakeSession()) as it:
        assert it.listening.url == f"http://127.0.0.1:{it.port}/mcp"
        assert (await it.post()).status == 200
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.2", it.port)


@requirement("agent-transport/loopback/refuses-other-bind")
@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.2", "::1", "localhost", "127.1", ""])
def test_any_other_bind_is_refused_at_construction(host: str) -> None:
    with pytest.raises(ConfigurationError, match="host"):
        McpLoopbackHost(FakeSession(), host=host)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_is_none_is_refused_at_construction(port: int) -> None:
    with pytest.raises(ConfigurationError, match="port"):
        McpLoopbackHost(FakeSession(), port=port)


# --- the bearer


@requirement("agent-transport/loopback/fresh-bearer")
async def test_each_start_mints_256_bits_of_its_own() -> None:
    drawn: list[int] = []

    def entropy(count: int) -> bytes:
        drawn.append(count)
        return secrets.token_bytes(count)

    tokens: set[str] = set()
    for _ in range(3):
        async with loopback(FakeSession(), entropy=entropy) as it:
            tokens.add(it.listening.token)
    assert len(tokens) == 3
    assert all(re.fullmatch("[0-9a-f]{64}", token) for token in tokens)
    assert drawn == [32, 32, 32]


@requirement("agent-transport/loopback/bearer-to-owner-only")
async def test_the_bearer_is_in_no_repr_url_log_or_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with loopback(FakeSession()) as it:
        token = it.listening.token
        answered = [await it.post(), await it.post(tool_call("echo", text="x"))]
        answered.append(await refusal_of(it.port, raw(it.lines(Authorization=f"Bearer {token}x"))))
        answered.append(await refusal_of(it.port, raw(it.lines(), path=f"/mcp?token={token}")))
        shown = [repr(it.listening), str(it.listening), it.listening.url, repr(it.host)]
        shown += [repr((answer.headers, answer.body)) for answer in answered]
    assert not [text for text in (*shown, caplog.text) if token in text]


@requirement("agent-transport/loopback/bearer-401")
@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {WRONG}",
        "Bearer {token}x",
        "Basic {token}",
        "{token}",
    ],
)
async def test_a_wrong_or_missing_bearer_gets_401_without_a_challenge(value: str | None) -> None:
    async with loopback(FakeSession()) as it:
        sent = None if value is None else value.format(token=it.listening.token)
        refused = await refusal_of(it.port, raw(it.lines(Authorization=sent)))
        assert refused.status == 401
        assert "www-authenticate" not in refused.headers
        twice = [*it.lines(), ("Authorization", f"Bearer {it.listening.token}")]
        assert (await refusal_of(it.port, raw(twice))).status == 401


async def test_the_bearer_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[Any, Any]] = []
    compare = hmac.compare_digest

    def noting(one: Any, other: Any) -> bool:
        compared.append((one, other))
        return compare(one, other)

    async with loopback(FakeSession()) as it:
        monkeypatch.setattr(hmac, "compare_digest", noting)
        await refusal_of(it.port, raw(it.lines(Authorization=f"Bearer {WRONG}")))
        await it.post()
        expected = it.listening.token.encode()
    assert compared == [(WRONG.encode(), expected), (expected, expected)]


async def test_the_bearer_of_one_host_is_no_bearer_of_another() -> None:
    async with loopback(FakeSession()) as one, loopback(FakeSession()) as other:
        foreign = f"Bearer {one.listening.token}"
        assert (await refusal_of(other.port, raw(other.lines(Authorization=foreign)))).status == 401


# --- Host, Origin, path

BAD_HOSTS = [
    None,
    "",
    "127.0.0.1",
    "127.0.0.1:80",
    "localhost:{port}",
    "127.0.0.1:{port}.evil.example",
    "evil.example:{port}",
    "[::1]:{port}",
    "127.0.0.1:0{port}",
]


@requirement("agent-transport/loopback/host-403", "agent-transport/loopback/host-with-port")
@pytest.mark.parametrize("value", BAD_HOSTS)
async def test_a_host_that_is_not_the_listeners_own_gets_403(value: str | None) -> None:
    async with loopback(FakeSession()) as it:
        sent = None if value is None else value.format(port=it.port)
        assert (await refusal_of(it.port, raw(it.lines(Host=sent)))).status == 403


@requirement("agent-transport/loopback/origin-403")
@pytest.mark.parametrize(
    "value",
    [
        "null",
        "",
        "http://127.0.0.1",
        "https://127.0.0.1:{port}",
        "http://localhost:{port}",
        "http://127.0.0.1:{port}/",
        "http://127.0.0.1:{port}.evil.example",
        "http://evil.example",
    ],
)
async def test_an_origin_that_is_not_exactly_its_own_gets_403(value: str) -> None:
    async with loopback(FakeSession()) as it:
        sent = value.format(port=it.port)
        assert (await refusal_of(it.port, raw(it.lines(Origin=sent)))).status == 403


@requirement("agent-transport/loopback/origin-absent")
async def test_its_own_origin_and_no_origin_pass() -> None:
    async with loopback(FakeSession()) as it:
        own = raw(it.lines(Origin=f"http://127.0.0.1:{it.port}"))
        assert (await exchange(it.port, own)).status == 200
        assert (await it.post()).status == 200
        twice = [*it.lines(), *[("Origin", f"http://127.0.0.1:{it.port}")] * 2]
        assert (await refusal_of(it.port, raw(twice))).status == 403


@pytest.mark.parametrize("path", ["/", "/mcp/", "/mcp?a=1", "/MCP", "/%6dcp", "//mcp", "/mcp/x"])
async def test_any_other_path_gets_403(path: str) -> None:
    async with loopback(FakeSession()) as it:
        assert (await refusal_of(it.port, raw(it.lines(), path=path))).status == 403


# --- the order, and what is refused before the body

STEPS: list[tuple[int, dict[str, str]]] = [
    (403, {"Host": "evil.example"}),
    (403, {"Origin": "http://evil.example"}),
    (401, {"Authorization": f"Bearer {WRONG}"}),
    (413, {"Content-Length": str(1024 * 1024 + 1)}),
]


@requirement("agent-transport/loopback/before-body")
@pytest.mark.parametrize("first", range(len(STEPS)))
async def test_the_first_fault_in_order_decides_and_no_body_is_awaited(first: int) -> None:
    lines: dict[str, str | None] = {"Content-Length": "1000"}
    for _, fault in reversed(STEPS[first:]):
        lines |= fault
    async with loopback(FakeSession()) as it:
        refused = await refusal_of(it.port, raw(it.lines(**lines), b""))
    assert refused.status == STEPS[first][0]


@requirement("agent-transport/loopback/before-body")
async def test_a_fault_of_admission_comes_before_the_methods() -> None:
    async with loopback(FakeSession()) as it:
        bad = it.lines(Authorization=None)
        assert (await refusal_of(it.port, raw(bad, b"", method="GET"))).status == 401
        assert (await refusal_of(it.port, raw(bad, b"", path="/x", method="GET"))).status == 403


@requirement("agent-transport/http/no-get-stream", "agent-transport/http/stateless")
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "PATCH"])
async def test_any_other_method_gets_405_and_no_stream(method: str) -> None:
    async with loopback(FakeSession()) as it:
        lines = it.lines(Accept="text/event-stream")
        refused = await refusal_of(it.port, raw(lines, b"", method=method))
        assert (refused.status, refused.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_over_one_mebibyte_gets_413(chunked: bool) -> None:
    big = b" " * (1024 * 1024) + b"{}"
    async with loopback(FakeSession()) as it:
        if chunked:
            lines = [*it.lines(), ("Transfer-Encoding", "chunked"), ("Content-Length", "")]
            lines = [line for line in lines if line[0] != "Content-Length"]
            head = raw(lines, b"").replace(b"Content-Length: 0\r\n", b"")
            request = head + f"{len(big):x}\r\n".encode() + big
        else:
            request = raw(it.lines(), big)
        assert (await refusal_of(it.port, request)).status == 413


async def test_a_body_of_exactly_one_mebibyte_is_served() -> None:
    async with loopback(FakeSession()) as it:
        padded = LIST + b" " * (1024 * 1024 - len(LIST))
        assert (await it.post(padded)).status == 200


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"NaN", b'{"a":1}x', b'{"a":"\\ud800"}'])
async def test_a_body_that_is_not_json_gets_an_empty_400(body: bytes) -> None:
    async with loopback(FakeSession()) as it:
        assert (await refusal_of(it.port, raw(it.lines(), body))).status == 400


@requirement("agent-transport/errors/protocol-by-sdk", "agent-transport/http/wire-is-sdks")
async def test_json_that_is_no_good_message_is_answered_by_the_protocol() -> None:
    async with loopback(FakeSession()) as it:
        for body, status, code in (
            (b"[]", 400, -32600),
            (b'{"jsonrpc":"2.0","id":7,"method":"no/such"}', 200, -32601),
            (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}', 200, -32602),
        ):
            answered = await it.post(body)
            assert (answered.status, answered.json["error"]["code"]) == (status, code)


# --- how much is taken


async def held_call(
    it: Loopback, session: FakeSession, stack: AsyncExitStack
) -> asyncio.StreamReader:
    """A call whose turn is running."""
    reader, writer = await asyncio.open_connection("127.0.0.1", it.port)
    stack.callback(writer.close)
    writer.write(raw(it.lines(), tool_call("agent_submit", prompt="x")))
    async with asyncio.timeout(BOUND_S):
        await session.submitted.get()
    return reader


async def test_the_seventeenth_call_in_flight_gets_503_before_its_body() -> None:
    session = FakeSession(manual_turns=True)
    async with loopback(session) as it, AsyncExitStack() as stack:
        held = [await held_call(it, session, stack) for _ in range(16)]
        lines = it.lines(**{"Content-Length": "1000"})
        assert (await refusal_of(it.port, raw(lines, b""))).status == 503
        wrong = it.lines(Authorization=f"Bearer {WRONG}")
        assert (await refusal_of(it.port, raw(wrong))).status == 401
        session.turns[0].answer("done")
        assert (await read_head(held[0]))[0] == 200
        assert (await it.post()).status == 200


async def test_the_33rd_connection_is_turned_away() -> None:
    async with loopback(FakeSession()) as it, AsyncExitStack() as stack:
        for _ in range(32):
            reader, writer = await asyncio.open_connection("127.0.0.1", it.port)
            stack.callback(writer.close)
            writer.write(raw(it.lines()))
            assert (await read_head(reader))[0] == 200
        reader, writer = await asyncio.open_connection("127.0.0.1", it.port)
        stack.callback(writer.close)
        async with asyncio.timeout(BOUND_S):
            turned_away = await reader.read()
        assert turned_away.startswith(b"HTTP/1.1 503")


async def test_slow_headers_and_slow_bodies_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (LIMITS.header_s, LIMITS.body_s, LIMITS.header_bytes) == (5.0, 15.0, 16 * 1024)
    quick = type(LIMITS)(header_s=0.05, body_s=0.05)
    monkeypatch.setattr(loopback_module, "LIMITS", quick)
    async with loopback(FakeSession()) as it:
        for start in (b"POST /mcp HTTP/1.1\r\nHost:", raw(it.lines())[:-1]):
            reader, writer = await asyncio.open_connection("127.0.0.1", it.port)
            writer.write(start)
            async with asyncio.timeout(BOUND_S):
                ended = await reader.read()
            writer.close()
            assert ended == b"" or ended.startswith(b"HTTP/1.1 408")


async def test_headers_over_16_kib_are_refused() -> None:
    async with loopback(FakeSession()) as it:
        heavy = raw([*it.lines(), ("X", "y" * 16 * 1024)])
        reader, writer = await asyncio.open_connection("127.0.0.1", it.port)
        writer.write(heavy)
        status, _ = await read_head(reader)
        writer.close()
        assert status == 431


async def test_a_port_that_is_taken_by_nobody_can_be_asked_for() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    async with loopback(FakeSession(), port=port) as it:
        assert it.port == port
