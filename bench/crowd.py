"""Many open streams: what each costs in memory, and how soon one todo has rung them.

`python -m bench.crowd`. The time runs from the request that adds the todo, its commit included,
to the last frame of the last stream as the other core sees it.
"""

from __future__ import annotations

import argparse
import select
import socket
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench.servers import ServerFault, cores, scratch
from bench.service import BenchService, open_streams, serving

BELL = b"notifications/claude/channel"
QUEUE = "bell"
"""With nothing in it: a stream that opens is rung for what waits, and that is not counted here."""
FRAME_BOUND_S = 10.0
ROUNDS = 5
"""Below the ten rings that an endpoint may get in a burst."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """So many endpoints with so many streams each, and what is wanted of them."""

    endpoints: int
    streams_each: int
    wanted_ms: float
    wanted_kib: float | None = None


CROWDS = (Crowd(100, 20, 100, 30.0), Crowd(2_000, 1, 500))
QUICK = (Crowd(3, 2, 100, 30.0), Crowd(5, 1, 500))
"""Shows that it runs. Its figures mean nothing."""


def main(arguments: Sequence[str] | None = None) -> None:
    """One service for each crowd, one crowd after the other."""
    parser = argparse.ArgumentParser(prog="python -m bench.crowd", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small crowds: does it run at all?")
    print("server on core {}, streams on core {}".format(*cores()), flush=True)
    for number, crowd in enumerate(QUICK if parser.parse_args(arguments).quick else CROWDS):
        with scratch() as kept, serving(kept / str(number)) as service:
            _measure(service, crowd)


def _measure(service: BenchService, crowd: Crowd) -> None:
    idle_mib = service.server.resident_mib()
    agents = [
        endpoint.connected()
        for endpoint in [service.vend([QUEUE]) for _ in range(crowd.endpoints)]
        for _ in range(crowd.streams_each)
    ]
    in_session_mib = service.server.resident_mib()
    with open_streams(agents) as wires:
        open_mib = service.server.resident_mib()
        count = len(agents)
        sessions_kib = (in_session_mib - idle_mib) * 1024 / count
        streams_kib = (open_mib - in_session_mib) * 1024 / count
        print(
            f"\n{crowd.endpoints} endpoints, {count} streams: {open_mib:.0f} MiB, of which "
            f"{idle_mib:.0f} idle; {sessions_kib:.1f} KiB a session, {streams_kib:.1f} its stream"
        )
        _judge(sessions_kib + streams_kib, crowd.wanted_kib, "KiB each")
        took_ms = [_ring(service, wires, crowd.endpoints) for _ in range(ROUNDS)]
        told = ", ".join(f"{one:.0f}" for one in took_ms)
        print(f"one todo rings {crowd.endpoints} endpoints, the last one after {told} ms")
        _judge(statistics.median(took_ms), crowd.wanted_ms, "ms to the last stream")


def _ring(service: BenchService, wires: Sequence[socket.socket], wanted: int) -> float:
    """Add a todo; milliseconds until so many streams have been rung."""
    asking = socket.create_connection(("127.0.0.1", service.server.port))
    poller = select.epoll()
    by_number = {wire.fileno(): wire for wire in (asking, *wires)}
    for number in by_number:
        poller.register(number, select.EPOLLIN)
    rung, last_s = 0, 0.0
    began_s = time.perf_counter()
    asking.sendall(service.todo_request(QUEUE))
    try:
        while rung < wanted:
            ready = poller.poll(FRAME_BOUND_S)
            if not ready:
                raise ServerFault(f"{rung} streams were rung, not {wanted}")
            for number, _ in ready:
                if BELL in by_number[number].recv(65_536):
                    rung += 1
                    last_s = time.perf_counter()
    finally:
        poller.close()
        asking.close()
    return (last_s - began_s) * 1000


def _judge(reached: float, wanted: float | None, unit: str) -> None:
    if wanted is not None:
        mark = "reached" if reached <= wanted else "MISSED "
        print(f"{mark} {reached:.1f} {unit}, wanted {wanted:.0f} or less", flush=True)


if __name__ == "__main__":
    main()
