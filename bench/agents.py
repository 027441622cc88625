"""What the load says: MCP handshakes, and the conversations of each case as ready bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from bench.load import Conversation
from bench.servers import ServerFault, ServerProcess

PROTOCOL_VERSION = "2025-11-25"
MODERN_VERSION = "2026-07-28"
ECHO_TEXT = "x" * 100
LIST_ROWS = 20

_ID = "td_" + "0" * 26
_TOKEN = "lt_" + "a" * 20
"""Stand-ins of the true lengths, so that a request can be filled in without being built anew."""

_ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}
_ACCEPT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@dataclass(frozen=True, slots=True)
class Agent:
    """One MCP client of a server. `credential` and `session` None: the server asks for none.

    `is_modern`: its tool calls are of the 2026-07-28 era, each of which stands alone.
    """

    server: ServerProcess
    path: str
    credential: str | None = None
    session: str | None = None
    is_modern: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """What each of its requests carries."""
        own = {"MCP-Protocol-Version": PROTOCOL_VERSION}
        if self.credential is not None:
            own["Authorization"] = f"Bearer {self.credential}"
        if self.session is not None:
            own["Mcp-Session-Id"] = self.session
        return _ACCEPT | own

    def connected(self) -> Agent:
        """This agent after its handshake."""
        params = {
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        message = _message("initialize", params, 0)
        status, lines, body = self.server.exchange("POST", self.path, self.headers, message)
        if status != 200:
            raise ServerFault(f"initialize was answered with {status}: {body[:300]!r}")
        agent = Agent(self.server, self.path, self.credential, lines["mcp-session-id"])
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.server.exchange("POST", self.path, agent.headers, told)
        return agent

    def modern(self) -> Agent:
        """This agent as one of the 2026-07-28 era."""
        return replace(self, is_modern=True)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """One call outside the measured time: its structured result."""
        message = _message("tools/call", {"name": tool, "arguments": arguments}, 0)
        status, _, body = self.server.exchange("POST", self.path, self.headers, message)
        answer: dict[str, Any] = json.loads(body) if status == 200 else {}
        result: dict[str, Any] = answer.get("result", {"isError": True})
        if result.get("isError"):
            raise ServerFault(f"{tool} was answered with {status}: {body[:300]!r}")
        return result["structuredContent"]

    def request(self, tool: str, arguments: Mapping[str, Any], request_id: int) -> bytes:
        """A tool call as it goes over the wire."""
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        headers = self.headers
        if self.is_modern:
            params["_meta"] = _ENVELOPE
            era = {"MCP-Protocol-Version": MODERN_VERSION}
            headers |= era | {"Mcp-Method": "tools/call", "Mcp-Name": tool}
        body = orjson.dumps(_message("tools/call", params, request_id))
        lines = [f"POST {self.path} HTTP/1.1", f"Host: 127.0.0.1:{self.server.port}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += [f"Content-Length: {len(body)}", "", ""]
        return "\r\n".join(lines).encode() + body

    def stream_request(self) -> bytes:
        """The GET that opens its notification stream."""
        lines = [f"GET {self.path} HTTP/1.1", f"Host: 127.0.0.1:{self.server.port}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\r\n".join([*lines, "", ""]).encode()


def echo(agent: Agent) -> Conversation:
    """The same call for ever."""
    return _again(agent.request("echo", {"text": ECHO_TEXT}, 1))


def list_todos(agent: Agent) -> Conversation:
    """A page of twenty."""
    return _again(agent.request("list_todos", {"queue": "shelf", "limit": LIST_ROWS}, 1))


def heartbeat(agent: Agent, *, modern: bool = False) -> Conversation:
    """One todo is held for the whole round."""
    lease = agent.call("claim", queue="held")
    held = {"id": lease["id"], "lease_token": lease["lease_token"], "lease_seconds": 600}
    speaker = agent.modern() if modern else agent
    return _again(speaker.request("heartbeat", held, 1))


def claim_and_complete(agent: Agent) -> Conversation:
    """Take the next todo, finish it, and so on. Each of the two is one call."""
    claim = agent.request("claim", {"queue": "work"}, 1)
    mould = agent.request(
        "complete",
        {"id": _ID, "lease_token": _TOKEN, "result": {"ok": True}, "summary": "as asked"},
        2,
    )
    while True:
        body = yield claim
        lease = orjson.loads(body)["result"]["structuredContent"]
        if lease["empty"]:
            raise ServerFault("the queue ran dry: the round would measure empty claims")
        complete = mould.replace(_ID.encode(), lease["id"].encode())
        yield complete.replace(_TOKEN.encode(), lease["lease_token"].encode())


def _again(request: bytes) -> Conversation:
    while True:
        yield request


def _message(method: str, params: Mapping[str, Any], request_id: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
