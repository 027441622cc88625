"""One request to an ASGI application, without a server: what was sent, what came back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agent_transport.admission.asgi import Application, Message, Receive, Scope

Header = tuple[bytes, bytes]


@dataclass
class Answer:
    """The answer to a request. `body_reads` counts how often the body was asked for."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    body_reads: int = 0


def request(
    path: str = "/mcp",
    *,
    method: str = "POST",
    headers: tuple[Header, ...] = (),
    client: tuple[str, int] | None = ("203.0.113.9", 4711),
) -> dict[str, Any]:
    """The scope of a request; a query stands behind `?` in `path`."""
    raw, _, query = path.partition("?")
    return {
        "type": "http",
        "method": method,
        "path": raw,
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "headers": list(headers),
        "client": client,
    }


async def ask(app: Application, scope: Scope) -> Answer:
    answer = Answer()

    async def receive() -> Message:
        answer.body_reads += 1
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {n.decode(): v.decode() for n, v in message["headers"]}
        else:
            answer.body += message.get("body", b"")

    await app(scope, receive, send)
    return answer


def feeding(*messages: Message) -> tuple[Receive, list[Message]]:
    """A `receive` that gives these messages in turn, and the list of those not yet asked for."""
    left = list(messages)

    async def receive() -> Message:
        return left.pop(0)

    return receive, left


def part(body: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}
