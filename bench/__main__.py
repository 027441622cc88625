"""One run: all servers on one core, the load on another, one case after the other.

Nothing here passes or fails on time: a run prints what it saw beside what is wanted.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.agents import Agent, claim_and_complete, echo, heartbeat, list_todos
from bench.load import Conversation, Round, drive
from bench.servers import ServerProcess, cores, running, scratch
from bench.service import BenchService, open_streams, serving
from bench.table import MODERN, MODERN_REFERENCE, Line, rendered, verdicts

PEERS = {"bare": "bare ASGI answer", "fastmcp": "FastMCP echo", "sdk": "SDK echo"}
CLAIMS_PER_S = 6_000
"""More than one core can claim: a round must not run out of work."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    connections: tuple[int, ...] = (1, 8, 32)
    crowd: int = 1_000
    warm_s: float = 0.5
    measured_s: float = 3.0
    peers: tuple[str, ...] = tuple(PEERS)
    cases: tuple[str, ...] = ("heartbeat", "modern", "claim", "list")


QUICK = Plan(connections=(1, 2), crowd=3, warm_s=0.05, measured_s=0.2, peers=("bare", "sdk"))
"""Shows that a run works. Its figures mean nothing."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    plan = _plan(arguments)
    with ExitStack() as stack:
        kept = stack.enter_context(scratch())
        print(f"one write of 4 KiB, made durable: {_sync_ms(kept):.2f} ms", flush=True)
        peers = {name: _peer(stack, name) for name in plan.peers}
        service = stack.enter_context(serving(kept))
        print(
            f"serve: ready after {service.server.ready_after_s:.2f} s, "
            f"idle at {service.idle_mib:.0f} MiB; "
            "server on core {}, load on core {}\n".format(*cores()),
            flush=True,
        )
        lines = [*_rounds(plan, peers, service), *_crowded(plan, service)]
    print(rendered(lines) + "\n")
    print("\n".join(verdicts(lines)))


def _plan(arguments: Sequence[str] | None) -> Plan:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny rounds: does it run at all?")
    parser.add_argument("--seconds", type=float, help="length of a round")
    parser.add_argument("--connections", type=int, action="append", help="may be repeated")
    parser.add_argument("--case", action="append", choices=Plan().cases, help="may be repeated")
    parser.add_argument("--no-peers", action="store_true", help="the service alone")
    given = parser.parse_args(arguments)
    plan = QUICK if given.quick else Plan()
    return Plan(
        connections=tuple(given.connections or plan.connections),
        crowd=plan.crowd,
        warm_s=plan.warm_s,
        measured_s=given.seconds or plan.measured_s,
        peers=() if given.no_peers else plan.peers,
        cases=tuple(given.case or plan.cases),
    )


def _peer(stack: ExitStack, name: str) -> ServerProcess:
    return stack.enter_context(running(["-m", "bench.peers", name], {}))


def _rounds(plan: Plan, peers: dict[str, ServerProcess], service: BenchService) -> list[Line]:
    """Peers and our cases take turns, so that a noisy minute falls on all of them."""
    lines: list[Line] = []
    for connections in plan.connections:
        for name, server in peers.items():
            talks = [echo(_of_peer(server, name)) for _ in range(connections)]
            lines.append(Line(PEERS[name], connections, _drive(plan, server, talks)))
        if "sdk" in peers:
            talks = [echo(_of_peer(peers["sdk"], "sdk").modern()) for _ in range(connections)]
            lines.append(Line(MODERN_REFERENCE, connections, _drive(plan, peers["sdk"], talks)))
        agents = service.agents(connections)
        lines += [_our_round(plan, service, case, agents) for case in plan.cases]
    return lines


def _crowded(plan: Plan, service: BenchService) -> list[Line]:
    """The same calls while many sessions hold their notification streams open."""
    most = max(plan.connections)
    crowd = service.agents(plan.crowd)
    step = max(1, len(crowd) // most)
    agents = (crowd * most)[::step][:most]
    with open_streams(crowd):
        return [_our_round(plan, service, case, agents, crowd=plan.crowd) for case in plan.cases]


def _our_round(
    plan: Plan, service: BenchService, case: str, agents: Sequence[Agent], crowd: int = 0
) -> Line:
    name, talk = _CASES[case]
    if case == "claim":
        service.add("work", int(CLAIMS_PER_S * (plan.warm_s + plan.measured_s) / 2) + 500)
    if case in ("heartbeat", "modern"):
        service.add("held", len(agents))
    measured = _drive(plan, service.server, [talk(agent) for agent in agents])
    return Line(name, len(agents), measured, crowd)


_CASES: dict[str, tuple[str, Callable[[Agent], Conversation]]] = {
    "heartbeat": ("heartbeat", heartbeat),
    "claim": ("claim + complete", claim_and_complete),
    "modern": (MODERN, lambda agent: heartbeat(agent, modern=True)),
    "list": ("list_todos of 20", list_todos),
}


def _of_peer(server: ServerProcess, name: str) -> Agent:
    agent = Agent(server, "/mcp/" if name == "sdk" else "/mcp")
    return agent if name == "bare" else agent.connected()


def _drive(plan: Plan, server: ServerProcess, talks: Sequence[Conversation]) -> Round:
    return drive(server.port, talks, server.cpu_s, warm_s=plan.warm_s, measured_s=plan.measured_s)


def _sync_ms(directory: Path) -> float:
    """What durability costs on this disk: the median of small writes with fdatasync."""
    took_s: list[float] = []
    with (directory / "sync").open("wb") as file:
        for _ in range(50):
            began_s = time.perf_counter()
            file.write(b"\0" * 4096)
            file.flush()
            os.fdatasync(file.fileno())
            took_s.append(time.perf_counter() - began_s)
    return sorted(took_s)[len(took_s) // 2] * 1000


if __name__ == "__main__":
    main()
