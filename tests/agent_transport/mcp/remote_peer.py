"""A running remote host, and a proxy or a stranger that speaks to it byte by byte."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from agent_transport.admission import (
    Admitted,
    AuditRecord,
    TokenFault,
    TokenVerifier,
    build_authorization,
)
from agent_transport.mcp.remote import McpRemoteHost, RemoteListening
from agent_transport.session import McpTransportSession
from agent_transport.testing import FakeClock, FakeVerifier
from tests.agent_transport.mcp.hosts import JSON, LIST, Line, raw
from tests.agent_transport.mcp.wire_client import BOUND_S, Answer, read_head

PUBLIC_URL = "https://agents.example/team/mcp"
PATH = "/team/mcp"
METADATA = "/.well-known/oauth-protected-resource/team/mcp"
ISSUER = "https://login.example"
SCOPES = ("agent:use", "agent:see")
GOOD = "good.token"
BAD = "bad.token"
PROXY = "127.0.0.3"
"""An address of its own for the proxy, and others for strangers, all of them on this machine."""


def fault_tokens() -> FakeVerifier:
    """One good token, one that lacks a scope, and one named after each fault."""
    scopes = frozenset({*SCOPES, "other"})
    tokens: dict[str, Admitted | TokenFault] = {fault.value: fault for fault in TokenFault}
    return FakeVerifier({**tokens, GOOD: Admitted("somebody", scopes)})


@dataclass
class Remote:
    """What is known of a running host, and who may be pretended to be."""

    host: McpRemoteHost
    listening: RemoteListening
    verifier: TokenVerifier
    clock: FakeClock
    records: list[AuditRecord] = field(default_factory=list[AuditRecord])

    def request(
        self,
        token: str | None = GOOD,
        *,
        body: bytes = LIST,
        method: str = "POST",
        path: str = PATH,
        host: str | None = "agents.example",
        more: Sequence[Line] = (),
    ) -> bytes:
        """A request as the proxy passes it on."""
        lines: list[Line] = [] if host is None else [("Host", host)]
        lines += [] if token is None else [("Authorization", f"Bearer {token}")]
        return raw([*lines, *JSON, *more], body, method=method, path=path)

    async def ask(
        self, token: str | None = GOOD, *, source: str = "127.0.0.1", **changes: Any
    ) -> Answer:
        """The answer to a request that comes from `source`."""
        return await self.answer(self.request(token, **changes), source)

    async def answer(self, request: bytes, source: str = "127.0.0.1") -> Answer:
        at = self.listening.address
        reader, writer = await asyncio.open_connection("127.0.0.1", at.port, local_addr=(source, 0))
        try:
            writer.write(request)
            status, headers = await read_head(reader)
            async with asyncio.timeout(BOUND_S):
                body = await reader.readexactly(int(headers["content-length"]))
                rest = await reader.read() if headers.get("connection") == "close" else b""
        finally:
            writer.close()
        assert rest == b""
        return Answer(status, headers, body)

    async def refusal(self, token: str | None = GOOD, **changes: Any) -> Answer:
        """The same, of a request that must be refused: bare, and without its body being sent."""
        more = (*changes.pop("more", ()), ("Content-Length", "1000"))
        answer = await self.ask(token, body=b"", more=more, **changes)
        assert (answer.body, answer.headers["connection"]) == (b"", "close")
        return answer


@asynccontextmanager
async def remote(
    session: McpTransportSession,
    *,
    verifier: TokenVerifier | None = None,
    trusted_proxies: Sequence[str] = (PROXY,),
    **settings: Any,
) -> AsyncGenerator[Remote]:
    verifier = verifier or fault_tokens()
    clock, records = FakeClock(), list[AuditRecord]()
    authorization = build_authorization(
        public_url=PUBLIC_URL,
        issuer=ISSUER,
        scopes=SCOPES,
        verifier=verifier,
        trusted_proxies=trusted_proxies,
        audit=records.append,
    )
    host = McpRemoteHost(
        session, authorization=authorization, clock=clock.now, rand=lambda: 0.0, **settings
    )
    try:
        yield Remote(host, await host.start(), verifier, clock, records)
    finally:
        await host.stop()
