"""Our side of a run: one `switchboard serve` with work in it, endpoints, sessions, streams."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench.agents import LIST_ROWS, Agent
from bench.servers import ServerFault, ServerProcess, running

_PROGRAM = Path(sys.executable).with_name("switchboard")
QUEUES = ("work", "held", "shelf")
BULK = 500
SESSIONS_PER_ENDPOINT = 25
"""Below the 32 streams that one endpoint may hold open."""

# Raised, not off: the buckets are asked on every request, as in earnest.
_SETTINGS = {
    "SWITCHBOARD_RATE_ENDPOINT_PER_SECOND": "1000000",
    "SWITCHBOARD_RATE_ENDPOINT_BURST": "1000000",
}


@contextmanager
def serving(directory: Path) -> Generator[BenchService]:
    """A service on new data in `directory`, with two pages of todos on the shelf."""
    data_dir = directory / "data"
    command = [str(_PROGRAM), "serve", "--port", "0", "--json"]
    command += ["--data-dir", str(data_dir)]
    with running(command, _SETTINGS, probe="/readyz") as server:
        idle_mib = server.resident_mib()
        token = (data_dir / "operator-token").read_text("ascii").strip()
        service = BenchService(server, token, idle_mib)
        service.add("shelf", 2 * LIST_ROWS)
        yield service


class BenchService:
    """What a case needs from the service before its round begins."""

    def __init__(self, server: ServerProcess, token: str, idle_mib: float) -> None:
        self.server = server
        self.idle_mib = idle_mib
        self._token = token

    def add(self, queue: str, count: int) -> None:
        """Put `count` ready todos into a queue."""
        for start in range(0, count, BULK):
            part = range(start, min(start + BULK, count))
            todos = [{"title": f"Todo {n}", "queue": queue, "payload": {"n": n}} for n in part]
            self._post("/todos", {"todos": todos})

    def vend(self, queues: Sequence[str] = QUEUES) -> Agent:
        """An endpoint of its own, without a session."""
        revealed = self._post("/endpoints", {"agent": "bench", "queues": list(queues)})
        path = "/mcp/" + str(revealed["url"]).rpartition("/")[2]
        return Agent(self.server, path, revealed["credential"])

    def agents(self, count: int) -> list[Agent]:
        """`count` sessions, spread over as many endpoints as they need."""
        opened: list[Agent] = []
        while len(opened) < count:
            endpoint = self.vend()
            wanted = min(SESSIONS_PER_ENDPOINT, count - len(opened))
            opened += [endpoint.connected() for _ in range(wanted)]
        return opened

    def todo_request(self, queue: str) -> bytes:
        """The request that adds a todo, as it goes over the wire."""
        body = json.dumps({"title": "Ring", "queue": queue}).encode()
        lines = ["POST /api/v1/todos HTTP/1.1", f"Host: 127.0.0.1:{self.server.port}"]
        lines += [f"Authorization: Bearer {self._token}", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(body)}", "", ""]
        return "\r\n".join(lines).encode() + body

    def _post(self, path: str, body: object) -> dict[str, Any]:
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
        }
        status, _, text = self.server.exchange("POST", f"/api/v1{path}", headers, body)
        if status != 201:
            raise ServerFault(f"POST {path} was answered with {status}: {text[:300]!r}")
        answer: dict[str, Any] = json.loads(text)
        return answer


@contextmanager
def open_streams(agents: list[Agent]) -> Generator[list[socket.socket]]:
    """A notification stream open for each agent."""
    with ExitStack() as opened:
        wires: list[socket.socket] = []
        for agent in agents:
            wire = socket.create_connection(("127.0.0.1", agent.server.port), timeout=20)
            opened.callback(wire.close)
            wire.sendall(agent.stream_request())
            head = wire.recv(4096)
            if b" 200 " not in head.split(b"\r\n", 1)[0]:
                raise ServerFault(f"a stream was answered with {head[:200]!r}")
            wires.append(wire)
        yield wires
