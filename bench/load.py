"""A closed loop of raw sockets: each connection sends its next request when it has an answer.

Requests are bytes that stand ready, answers are measured and handed on unread. One epoll loop
costs about 20 µs a call, so the server on the other core is what a round measures.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

Conversation = Generator[bytes, bytes, None]
"""Yields requests, is sent the body of each answer."""

ANSWER_BOUND_S = 20.0
"""A round without any answer for so long has failed."""

_FAULTS = (b'"isError":true', b'"error":{')


class LoadFault(Exception):
    """An answer that is no success: the round would measure something else than it says."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round measured. Latencies are in seconds, sorted."""

    latencies_s: list[float] = field(repr=False)
    elapsed_s: float
    cpu_s: float

    @property
    def calls_per_s(self) -> float:
        return len(self.latencies_s) / self.elapsed_s

    @property
    def cpu_us_per_call(self) -> float:
        return self.cpu_s * 1e6 / len(self.latencies_s)

    def percentile_ms(self, share: float) -> float:
        """The latency that `share` of the calls did not exceed."""
        return self.latencies_s[int((len(self.latencies_s) - 1) * share)] * 1000


@dataclass(slots=True)
class _Connection:
    wire: socket.socket
    conversation: Conversation
    sent_at_s: float = 0.0
    received: bytes = b""

    def say(self, request: bytes) -> None:
        self.sent_at_s = time.perf_counter()
        self.wire.sendall(request)


def drive(
    port: int,
    conversations: Sequence[Conversation],
    cpu_s: Callable[[], float],
    *,
    warm_s: float,
    measured_s: float,
) -> Round:
    """Hold all conversations at once; what `cpu_s` tells is read around the measured time."""
    poller = select.epoll()
    connections: dict[int, _Connection] = {}
    try:
        for conversation in conversations:
            wire = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_BOUND_S)
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connections[wire.fileno()] = _Connection(wire, conversation)
            poller.register(wire.fileno(), select.EPOLLIN)
        for connection in connections.values():
            connection.say(next(connection.conversation))
        _answer_until(poller, connections, time.perf_counter() + warm_s)
        cpu_before_s, began_s = cpu_s(), time.perf_counter()
        latencies = _answer_until(poller, connections, began_s + measured_s)
        elapsed_s, used_s = time.perf_counter() - began_s, cpu_s() - cpu_before_s
    finally:
        poller.close()
        for connection in connections.values():
            connection.wire.close()
    if not latencies:
        raise LoadFault("no call was answered within the round")
    return Round(sorted(latencies), elapsed_s, used_s)


def _answer_until(
    poller: select.epoll, connections: dict[int, _Connection], end_s: float
) -> list[float]:
    latencies: list[float] = []
    while (now_s := time.perf_counter()) < end_s:
        ready = poller.poll(ANSWER_BOUND_S)
        if not ready:
            raise LoadFault(f"no answer within {ANSWER_BOUND_S:.0f} s")
        for number, _ in ready:
            connection = connections[number]
            body = _body_of(connection)
            if body is None:
                continue
            now_s = time.perf_counter()
            latencies.append(now_s - connection.sent_at_s)
            connection.say(connection.conversation.send(body))
    return latencies


def _body_of(connection: _Connection) -> bytes | None:
    """The body of the answer that has arrived; None: a part of it is still under way."""
    arrived = connection.wire.recv(262_144)
    if not arrived:
        raise LoadFault("the server closed a connection")
    received = connection.received + arrived
    end = received.find(b"\r\n\r\n")
    if end < 0:
        connection.received = received
        return None
    body = received[end + 4 :]
    if len(body) < _length(received[:end]):
        connection.received = received
        return None
    connection.received = b""
    if not received.startswith(b"HTTP/1.1 200 ") or any(fault in body for fault in _FAULTS):
        raise LoadFault(received[:600].decode("utf-8", "replace"))
    return body


def _length(head: bytes) -> int:
    _, named, rest = head.lower().partition(b"\r\ncontent-length:")
    if not named:
        raise LoadFault("an answer without Content-Length: " + head[:200].decode("latin-1"))
    return int(rest.split(b"\r\n", 1)[0])
