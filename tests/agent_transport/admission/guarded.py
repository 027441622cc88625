"""A gate on a clock of its own, in front of an application that notes whom it was shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent_transport.admission import (
    ADMITTED,
    Admitted,
    AuditRecord,
    Refused,
    ResourceServerGate,
    TokenFault,
    build_authorization,
)
from agent_transport.admission.asgi import Receive, Scope, Send
from tests.agent_transport.admission.asgi_peer import Answer, Header, ask, request

PUBLIC_URL = "https://agents.example/team/mcp"
PATH = "/team/mcp"
METADATA = "/.well-known/oauth-protected-resource/team/mcp"
GOOD = "good.token"


class Verifier:
    """Answers a token named like a fault with that fault; the good token passes."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.scopes = frozenset({"agent:use", "agent:see", "other"})
        self.broken: Exception | None = None

    async def verify(self, token: str) -> Admitted | Refused:
        self.asked.append(token)
        if self.broken is not None:
            raise self.broken
        if token == GOOD:
            return Admitted("somebody", self.scopes)
        known = token in set(TokenFault)
        return Refused(TokenFault(token) if known else TokenFault.BAD_SIGNATURE)


class Guarded:
    """A gate on a clock of its own, the application behind it, and the records it makes."""

    def __init__(self, *, audit: Callable[[AuditRecord], None] | None = None) -> None:
        self.now_s = 1000.0
        self.admitted: list[Any] = []
        self.records: list[AuditRecord] = []
        self.verifier = Verifier()
        authorization = build_authorization(
            public_url=PUBLIC_URL,
            issuer="https://login.example",
            scopes=["agent:use", "agent:see"],
            verifier=self.verifier,
            trusted_proxies=["10.0.0.0/8"],
            audit=audit or self.records.append,
        )
        self.gate = ResourceServerGate(
            self._application, authorization, clock=lambda: self.now_s, random=lambda: 0.0
        )

    async def _application(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.admitted.append(scope.get(ADMITTED, scope["type"]))
        if scope["type"] == "http":
            await receive()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"served"})

    async def ask(
        self,
        token: str | None = GOOD,
        *,
        path: str = PATH,
        method: str = "POST",
        host: bytes = b"agents.example",
        more: tuple[Header, ...] = (),
        client: tuple[str, int] | None = ("203.0.113.9", 4711),
    ) -> Answer:
        bearer = () if token is None else ((b"authorization", f"Bearer {token}".encode()),)
        headers = ((b"host", host), *bearer, *more)
        return await ask(self.gate, request(path, method=method, headers=headers, client=client))


def assert_is_bare_refusal(answer: Answer, status: int) -> None:
    assert (answer.status, answer.body, answer.body_reads) == (status, b"", 0)
    assert answer.headers["connection"] == "close"
    assert answer.headers["content-length"] == "0"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
