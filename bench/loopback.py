"""The loopback host beside the SDK's stateless transport, the price of a token, and what is kept.

`python -m bench.loopback`; nothing passes or fails, what is wanted stands beside what was seen.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from statistics import median

import orjson

from bench.agents import ECHO_TEXT, Agent, echo
from bench.load import ANSWER_BOUND_S, Conversation, drive
from bench.servers import ServerProcess, running
from bench.tokens import ALGORITHMS, verification_cpu_ms

CONNECTIONS = (1, 8)
WARM_UP_CALLS = 2_000
CALLS = 20_000
CANCELLED_EVERY = 10
WANTED_RATIO = 1.5
WANTED_TOKEN_MS = 0.4
WANTED_GROWTH_MIB = 5.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.loopback", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of a round")
    parser.add_argument("--rounds", type=int, default=3, help="the median of so many")
    parser.add_argument("--calls", type=int, default=CALLS, help="calls while memory is watched")
    parser.add_argument("--tokens", type=int, default=2_000, help="verifications per algorithm")
    given = parser.parse_args(arguments)
    with _host("loopback") as ours, _host("sdk") as sdk:
        for modern in (False, True):
            for connections in CONNECTIONS:
                _compare(ours, sdk, connections, given.rounds, given.seconds, modern=modern)
    with _host("loopback") as ours:
        _watch_memory(ours, given.calls)
    for algorithm in ALGORITHMS:
        cost_ms = asyncio.run(verification_cpu_ms(algorithm, given.tokens))
        print(f"{algorithm}: {cost_ms:.3f} ms of CPU a token (wanted: {WANTED_TOKEN_MS})")


@contextmanager
def _host(name: str) -> Generator[ServerProcess]:
    with running(["-m", "bench.agent_hosts", name], {}) as server:
        yield server


def _agent(server: ServerProcess) -> Agent:
    """One without a session; the SDK's application answers behind a slash."""
    token = server.ready.get("token")
    return Agent(server, "/mcp/" if token is None else "/mcp", token)


def _compare(
    ours: ServerProcess,
    sdk: ServerProcess,
    connections: int,
    rounds: int,
    seconds: float,
    *,
    modern: bool,
) -> None:
    rates: dict[str, list[float]] = {"ours": [], "sdk": []}
    costs_us: dict[str, list[float]] = {"ours": [], "sdk": []}
    for _ in range(rounds):  # in turns: a noisy minute falls on both
        for name, server in (("ours", ours), ("sdk", sdk)):
            talks = [_talk(_agent(server), modern=modern) for _ in range(connections)]
            measured = drive(server.port, talks, server.cpu_s, warm_s=0.5, measured_s=seconds)
            rates[name].append(measured.calls_per_s)
            costs_us[name].append(measured.cpu_us_per_call)
    mine, other = median(rates["ours"]), median(rates["sdk"])
    print(
        f"{'2026-07-28' if modern else '2025-11-25'}, {connections} connections: "
        f"{mine:.0f} calls/s at {median(costs_us['ours']):.0f} µs, "
        f"SDK {other:.0f} at {median(costs_us['sdk']):.0f} µs: "
        f"{mine / other:.1f} times (wanted: {WANTED_RATIO})",
        flush=True,
    )


def _talk(agent: Agent, *, modern: bool) -> Conversation:
    return _for_ever(_modern_request(agent)) if modern else echo(agent)


def _for_ever(request: bytes) -> Conversation:
    while True:
        yield request


def _modern_request(agent: Agent) -> bytes:
    version = "2026-07-28"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    }
    params = {"name": "echo", "arguments": {"text": ECHO_TEXT}, "_meta": meta}
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = agent.headers | {
        "MCP-Protocol-Version": version,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "echo",
    }
    lines = [f"POST {agent.path} HTTP/1.1", f"Host: 127.0.0.1:{agent.server.port}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


# --- memory


def _watch_memory(server: ServerProcess, calls: int) -> None:
    agent = _agent(server)
    _call_often(agent, WARM_UP_CALLS)
    before_mib = server.resident_mib()
    began_s = time.perf_counter()
    _call_often(agent, calls)
    after_mib = server.resident_mib()
    print(
        f"{calls} calls, each {CANCELLED_EVERY}th cancelled by its client leaving, "
        f"in {time.perf_counter() - began_s:.0f} s: {before_mib:.1f} to {after_mib:.1f} MiB, "
        f"{after_mib - before_mib:+.1f} (wanted: at most {WANTED_GROWTH_MIB:.0f})",
        flush=True,
    )


def _call_often(agent: Agent, calls: int) -> None:
    served = agent.request("echo", {"text": ECHO_TEXT}, 1)
    given_up = agent.request("wait", {}, 2)
    with _connected(agent) as kept:
        for number in range(calls):
            if number % CANCELLED_EVERY == 0:
                with _connected(agent) as leaving:
                    leaving.sendall(given_up)
            else:
                kept.sendall(served)
                _read_answer(kept)


@contextmanager
def _connected(agent: Agent) -> Generator[socket.socket]:
    with socket.create_connection(("127.0.0.1", agent.server.port), ANSWER_BOUND_S) as wire:
        yield wire


def _read_answer(wire: socket.socket) -> None:
    received = b""
    while b"\r\n\r\n" not in received:
        received += _some(wire)
    head, _, body = received.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise SystemExit(f"a call was answered with {received!r}")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += _some(wire)


def _some(wire: socket.socket) -> bytes:
    some = wire.recv(65536)
    if not some:
        raise SystemExit("the host closed a connection")
    return some


if __name__ == "__main__":
    main()
