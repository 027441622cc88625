"""Admission of agents and the guards of their tools, by ASGI, before any ledger is touched."""

from __future__ import annotations

import asyncio
import random
import secrets
from typing import Any, cast

import orjson
import pytest

from agent_transport.admission import OriginRule, TrustedProxies, only_host
from switchboard.clock import SystemClock
from switchboard.domain.credential import hash_secret, mint_credential
from switchboard.domain.endpoint import CORE_VERBS, Caller, EndpointId, Protocol
from switchboard.domain.workspace import WorkspaceId
from switchboard.mcp.app import AgentSurface, SurfaceLimits
from switchboard.notifiers.memory import MemoryNotifier
from switchboard.records import Session
from switchboard.service.leases import Leases
from switchboard.service.waiting import WaitingRoom
from switchboard.store import Store
from tests.specification import requirement

SECRET = mint_credential(secrets.token_bytes)
CALLER = Caller(
    EndpointId("ep_1"),
    WorkspaceId("ws_1"),
    "cr_1",
    "bot-00000000",
    "bot",
    ("builds",),
    CORE_VERBS,
    Protocol.AUTO,
    300_000,
    None,
)


class Rows:
    """Only what admission and sessions read: any touch of a todo is an AttributeError."""

    def __init__(self) -> None:
        self.kept: dict[str, Session] = {}
        self.reads = 0

    async def caller_by_credential(self, credential_hash: bytes) -> Caller | None:
        self.reads += 1
        return CALLER if credential_hash == hash_secret(SECRET) else None

    async def open_session(self, session: Session, keep: int) -> list[str]:
        self.kept[session.id] = session
        return []

    async def session(self, endpoint_id: EndpointId, session_id: str) -> Session | None:
        return self.kept.get(session_id)


class Client:
    def __init__(self) -> None:
        self.rows = Rows()
        store, room, notifier = cast(Store, self.rows), WaitingRoom(), MemoryNotifier()
        clock = SystemClock()
        leases = Leases(store, notifier, room, clock, secrets.token_bytes)
        limits = SurfaceLimits(
            only_host("127.0.0.1", 80), OriginRule(frozenset()), TrustedProxies(())
        )
        self.surface = AgentSurface(
            store, leases, room, notifier, limits, clock, random.Random(1).random
        )
        self.session: bytes | None = None

    async def post(
        self, message: dict[str, Any], *, secret: str | None = SECRET, slug: str = CALLER.slug
    ) -> tuple[int, dict[bytes, bytes], Any]:
        headers = [
            (b"host", b"127.0.0.1:80"),
            (b"content-type", b"application/json"),
            (b"accept", b"application/json, text/event-stream"),
        ]
        if secret is not None:
            headers.append((b"authorization", b"Bearer " + secret.encode()))
        if self.session is not None:
            headers.append((b"mcp-session-id", self.session))
        body = orjson.dumps({"jsonrpc": "2.0", "id": 1, **message})
        received = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if not received:
                await asyncio.Event().wait()  # the client stays
            return received.pop()

        async def send(event: Any) -> None:
            sent.append(dict(event))

        path = f"/mcp/{slug}"
        scope: dict[str, Any] = {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "headers": headers,
            "client": ("127.0.0.1", 1),
        }
        await self.surface(scope, cast(Any, receive), cast(Any, send))
        raw = b"".join(event.get("body", b"") for event in sent[1:])
        lines = dict(sent[0]["headers"])
        return sent[0]["status"], lines, orjson.loads(raw) if raw else None

    async def initialize(self) -> Any:
        params = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        status, lines, answer = await self.post({"method": "initialize", "params": params})
        assert status == 200
        self.session = lines[b"mcp-session-id"]
        return answer["result"]

    async def call(self, name: str, **arguments: Any) -> Any:
        params = {"name": name, "arguments": arguments}
        _, _, answer = await self.post({"method": "tools/call", "params": params})
        return answer


async def test_unknown_and_missing_credentials_get_one_identical_401() -> None:
    client = Client()
    answers = [
        await client.post({"method": "ping"}, secret=secret)
        for secret in (None, "nonsense", mint_credential(secrets.token_bytes))
    ]
    assert [status for status, _, _ in answers] == [401, 401, 401]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][1][b"www-authenticate"] == b"Bearer"
    assert client.rows.reads == 1, "only the well-formed credential cost a read"


async def test_a_credential_is_refused_at_another_slug() -> None:
    status, _, body = await Client().post({"method": "ping"}, slug="other-00000000")
    assert (status, body) == (403, None)


async def test_a_session_announces_channels_and_lists_exactly_the_granted_verbs() -> None:
    client = Client()
    await client.surface.start()
    opened = await client.initialize()
    assert opened["capabilities"]["experimental"] == {"claude/channel": {}}
    assert "claim" in opened["instructions"]
    _, _, listed = await client.post({"method": "tools/list"})
    assert [one["name"] for one in listed["result"]["tools"]] == [v.value for v in CORE_VERBS]
    await client.surface.stop()


@requirement(
    "SPEC-0014/tools/refused-before-store",
    "SPEC-0014/tools/verb-enforced",
    "SPEC-0014/tools/queue-enforced",
)
@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("release", {"id": "td_" + "0" * 26}, "forbidden"),
        ("claim", {"queue": "secrets"}, "forbidden"),
        ("claim", {"wait_seconds": True}, "invalid_argument: wait_seconds"),
        ("claim", {"lease_seconds": "9"}, "invalid_argument: lease_seconds"),
        ("claim", {"colour": "red"}, "invalid_argument: colour"),
        ("complete", {}, "invalid_argument: id"),
        ("complete", {"id": "td_" + "0" * 26, "result": "\x00"}, "invalid_argument: result"),
        ("fail", {"id": "td_" + "0" * 26, "reason": "a\x00b"}, "invalid_argument: reason"),
        ("list_todos", {"limit": 201}, "invalid_argument: limit"),
        ("complete", {"id": "nonsense"}, "not_found"),
    ],
)
async def test_a_refused_call_never_reaches_a_todo(
    name: str, arguments: dict[str, Any], told: str
) -> None:
    client = Client()
    await client.surface.start()
    await client.initialize()
    result = (await client.call(name, **arguments))["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith(told)
    assert "structuredContent" not in result
    await client.surface.stop()


async def test_an_unknown_tool_is_a_protocol_error() -> None:
    client = Client()
    await client.surface.start()
    await client.initialize()
    assert (await client.call("nope"))["error"]["code"] == -32602
    await client.surface.stop()
