"""The remote host as a whole: what it needs, its life, its limits, real tokens and clients."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from agent_transport.admission import SECURITY_HEADERS, ResourceServerGate, build_authorization
from agent_transport.admission.asgi import Receive, Scope, Send
from agent_transport.errors import (
    AlreadyStarted,
    CatalogInvalid,
    ConfigurationError,
    ListenFailed,
    StartTimedOut,
    StoppedWhileStarting,
)
from agent_transport.listener import Listener
from agent_transport.mcp.remote import McpRemoteHost
from agent_transport.testing import FakeClock, FakeSession
from agent_transport.testing.fake_session import ECHO
from tests.agent_transport.admission.issuer import ISSUER as TOKEN_ISSUER
from tests.agent_transport.admission.issuer import OTHER_RSA_KEY, Issuer, token
from tests.agent_transport.mcp.hosts import tool_call
from tests.agent_transport.mcp.remote_peer import (
    BAD,
    GOOD,
    ISSUER,
    METADATA,
    PROXY,
    PUBLIC_URL,
    SCOPES,
    Remote,
    fault_tokens,
    remote,
)
from tests.agent_transport.mcp.wire_client import BOUND_S, read_head
from tests.specification import requirement


def authorization(**changes: Any) -> Any:
    good: dict[str, Any] = {
        "public_url": PUBLIC_URL,
        "issuer": ISSUER,
        "scopes": SCOPES,
        "verifier": fault_tokens(),
    }
    return build_authorization(**(good | changes))


# --- what it needs


@requirement("agent-transport/remote/needs-verifier")
def test_it_cannot_be_built_without_a_verifier() -> None:
    for wrong in (None, object(), "verifier"):
        with pytest.raises(ConfigurationError, match="verifier"):
            authorization(verifier=wrong)
        nothing: Any = wrong
        with pytest.raises(ConfigurationError, match="authorization"):
            McpRemoteHost(FakeSession(), authorization=nothing)
    with pytest.raises(TypeError):
        McpRemoteHost(FakeSession())  # type: ignore[call-arg]  # what a careless caller writes


@requirement("agent-transport/remote/needs-https-url")
@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://agents.example/mcp",
        "agents.example/mcp",
        "https://",
        "https:///mcp",
        "https://user@agents.example/mcp",
        "https://agents.example/mcp?x=1",
        "https://agents.example/mcp#x",
        "https://agents.example:0/mcp",
        "wss://agents.example/mcp",
    ],
)
def test_it_cannot_be_built_without_an_absolute_https_url(url: str) -> None:
    with pytest.raises(ConfigurationError, match="public_url"):
        authorization(public_url=url)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("issuer", "http://login.example"),
        ("issuer", "login.example"),
        ("scopes", []),
        ("scopes", ["a b"]),
        ("scopes", ['a"']),
        ("trusted_proxies", ["proxy.example"]),
        ("trusted_proxies", ["10.0.0.0/33"]),
    ],
)
def test_a_bad_value_is_refused_at_construction_by_the_name_of_its_field(
    field: str, value: Any
) -> None:
    with pytest.raises(ConfigurationError, match=field):
        authorization(**{field: value})


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"host": "localhost"}, "host"),
        ({"port": 65536}, "port"),
        ({"connections": 0}, "connection"),
    ],
)
def test_a_bad_listen_address_or_limit_is_refused_at_construction(
    settings: dict[str, Any], field: str
) -> None:
    with pytest.raises(ConfigurationError, match=field):
        McpRemoteHost(FakeSession(), authorization=authorization(), **settings)


@requirement("agent-transport/remote/binds-elsewhere")
async def test_it_may_listen_beyond_loopback() -> None:
    async with remote(FakeSession(), host="0.0.0.0") as it:
        assert it.listening.address.host == "0.0.0.0"
        assert (await it.ask(source="127.0.0.2")).status == 200
        assert (await it.refusal(BAD)).status == 401


# --- the gate


async def _elsewhere(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that has nothing to do with agents."""
    if scope["type"] == "lifespan":
        for done in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{done}.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [*SECURITY_HEADERS]})
    await send({"type": "http.response.body", "body": b"elsewhere"})


async def _bytes(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    async with asyncio.timeout(BOUND_S):
        received = await reader.read()
    writer.close()
    lines = received.split(b"\r\n")
    return b"\r\n".join(line for line in lines if not line.lower().startswith(b"date:"))


@requirement("agent-transport/remote/shared-gate")
async def test_it_refuses_in_the_bytes_of_every_other_application_behind_the_gate() -> None:
    settings = authorization(trusted_proxies=(PROXY,))
    gate = ResourceServerGate(_elsewhere, settings, clock=FakeClock().now, random=lambda: 0.0)
    async with remote(FakeSession()) as it, Listener(gate) as other:
        asked = [
            it.request(host="evil.example"),
            it.request(more=[("Origin", "https://evil.example")]),
            it.request(path="/"),
            it.request(path=METADATA),
            it.request(None),
            *(it.request(fault) for fault in ("missing_scope", "expired", "keys_unavailable")),
            *[it.request(BAD)] * 20,
        ]
        refused = b""
        for request in asked:
            refused = await _bytes(it.listening.address.port, request)
            assert refused == await _bytes(other.address.port, request)
            assert refused.startswith(b"HTTP/1.1 ")
        assert refused.startswith(b"HTTP/1.1 429 ")


# --- how much is taken


async def test_the_seventeenth_call_in_flight_gets_503_and_is_not_counted() -> None:
    session = FakeSession(manual_turns=True)
    async with remote(session) as it, AsyncExitStack() as stack:
        for _ in range(16):
            _, writer = await asyncio.open_connection("127.0.0.1", it.listening.address.port)
            stack.callback(writer.close)
            writer.write(it.request(body=tool_call("agent_submit", prompt="x")))
            async with asyncio.timeout(BOUND_S):
                await session.submitted.get()
        assert (await it.refusal()).status == 503
        assert (await it.refusal(BAD)).status == 401
        assert [record.reason for record in it.records] == ["bad_signature"]
        session.turns[0].answer("done")


async def test_one_connection_more_than_configured_is_turned_away() -> None:
    async with remote(FakeSession(), connections=4) as it, AsyncExitStack() as stack:
        for _ in range(4):
            reader, writer = await asyncio.open_connection("127.0.0.1", it.listening.address.port)
            stack.callback(writer.close)
            writer.write(it.request())
            assert (await read_head(reader))[0] == 200
        assert (await _bytes(it.listening.address.port, b"")).startswith(b"HTTP/1.1 503")


# --- its life


async def test_it_serves_once_and_a_stop_ends_its_calls() -> None:
    session = FakeSession(manual_turns=True)
    async with remote(session) as it:
        with pytest.raises(AlreadyStarted):
            await it.host.start()
        calling = asyncio.ensure_future(it.ask(body=tool_call("agent_submit", prompt="x")))
        await session.submitted.get()
        await asyncio.gather(*(it.host.stop() for _ in range(3)))
        assert (await calling).json["result"]["isError"]
        with pytest.raises(ConnectionRefusedError):
            await it.ask()
        with pytest.raises(AlreadyStarted):
            await it.host.start()
        await it.host.wait_closed()


@requirement("agent-transport/http/checks-before-listening")
async def test_the_catalog_is_checked_before_the_address_is_asked_for() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        bad = McpRemoteHost(FakeSession([ECHO, ECHO]), authorization=authorization(), port=port)
        with pytest.raises(CatalogInvalid, match="echo"):
            await bad.start()
        holder.listen()
        taken = McpRemoteHost(FakeSession(), authorization=authorization(), port=port)
        with pytest.raises(ListenFailed, match=str(port)):
            await taken.start()
        await taken.stop()


@pytest.mark.concurrency
@pytest.mark.parametrize("end", ["stop", "bound", "cancel"])
async def test_a_start_that_waits_for_the_catalog_can_be_ended_and_leaves_nothing(end: str) -> None:
    clock, session = FakeClock(), FakeSession()
    session.catalog_gate.clear()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    host = McpRemoteHost(session, authorization=authorization(), port=port, sleep=clock.sleep)
    starting = asyncio.ensure_future(host.start())
    await session.catalog_asked.wait()
    expected: type[BaseException] = asyncio.CancelledError
    if end == "stop":
        expected = StoppedWhileStarting
        await host.stop()
    elif end == "bound":
        expected = StartTimedOut
        clock.advance(15.0)
    else:
        starting.cancel()
    with pytest.raises(expected):
        await starting
    session.catalog_gate.set()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    await host.stop()


# --- real tokens, real clients


def signed(issuer: Issuer) -> Any:
    return issuer.verifier(public_url=PUBLIC_URL, scopes=SCOPES)


def good_token(**changes: Any) -> str:
    return token(aud=PUBLIC_URL, scope=" ".join(SCOPES), **changes)


async def statuses(it: Remote, *tokens: str) -> list[int]:
    return [(await it.ask(sent)).status for sent in tokens]


@requirement("agent-transport/remote/verifier-decides")
async def test_signed_tokens_are_served_and_others_are_not() -> None:
    forged = token(OTHER_RSA_KEY, aud=PUBLIC_URL, scope=" ".join(SCOPES))
    async with remote(FakeSession(), verifier=signed(Issuer())) as it:
        other_server = token(aud="https://agents.example/team", scope=" ".join(SCOPES))
        told = await statuses(it, good_token(), forged, other_server, good_token(sub="eve"), GOOD)
        assert told == [200, 401, 401, 401, 401]
        assert (await it.refusal(token(aud=PUBLIC_URL, scope="agent:use"))).status == 403
        assert [record.reason for record in it.records] == [
            "bad_signature",
            "wrong_audience",
            "principal_not_allowed",
            "malformed",
            "missing_scope",
        ]


async def test_keys_that_cannot_be_had_are_503_uncounted_and_recover() -> None:
    issuer = Issuer(is_down=True)
    async with remote(FakeSession(), verifier=signed(issuer)) as it:
        for _ in range(25):
            assert (await it.refusal(good_token())).status == 503
        assert issuer.rounds == 1
        issuer.is_down = False
        issuer.now_s += 30.0
        assert await statuses(it, good_token()) == [200]
        assert (await it.refusal("made.up.token")).status == 401
    assert TOKEN_ISSUER not in repr(it.records)


class _Proxy(httpx2.AsyncBaseTransport):
    """Takes what is sent to the public URL to the listener, path and Host as they are."""

    def __init__(self, it: Remote) -> None:
        self._inner = httpx2.AsyncHTTPTransport()
        self._address = it.listening.address

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(
            scheme="http", host=self._address.host, port=self._address.port
        )
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_the_official_client_lists_and_calls_through_a_proxy(mode: Any) -> None:
    async with remote(FakeSession(), verifier=signed(Issuer())) as it:
        headers = {"Authorization": f"Bearer {good_token()}"}
        async with (
            httpx2.AsyncClient(transport=_Proxy(it), headers=headers, timeout=BOUND_S) as http,
            Client(streamable_http_client(PUBLIC_URL, http_client=http), mode=mode) as client,
        ):
            names = [tool.name for tool in (await client.list_tools()).tools]
            called = await client.call_tool("echo", {"text": "hi"})
    assert names == ["echo", "agent_submit"]
    assert not called.is_error
    assert it.records == []
