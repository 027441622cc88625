"""The Host rule: which names a request may call this server by.

A page of a stranger whose name was re-pointed at this machine reaches the listener with its own
name in Host; that is what this rule stops.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent_transport.admission.authority import authorities

LOCAL_NAMES = ("localhost", "::1", "127.0.0.1")


@dataclass(frozen=True, slots=True)
class HostRule:
    """The exact authorities that are accepted, in lower case. Rules join with `|`."""

    accepted: frozenset[bytes]

    def __or__(self, other: HostRule) -> HostRule:
        return HostRule(self.accepted | other.accepted)

    def admits(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Tell whether there is exactly one Host header and it is accepted. Case is ignored."""
        found: bytes | None = None
        for name, value in headers:
            if name == b"host":
                if found is not None:
                    return False
                found = value
        return found is not None and found.lower() in self.accepted


def only_host(host: str, port: int) -> HostRule:
    """One address with its port, nothing else: the loopback carrier's rule."""
    return public_host("", host, port)


def public_host(scheme: str, host: str, port: int) -> HostRule:
    """The host of a public URL; the port may be left out when it is the scheme's default."""
    return HostRule(frozenset(name.encode() for name in authorities(scheme, host, port)))


def listener_host(host: str, port: int, *, local_names: bool = False) -> HostRule:
    """The address a plain HTTP listener is bound to; with `local_names` its loopback names too."""
    rule = public_host("http", host, port)
    if local_names:
        for name in LOCAL_NAMES:
            rule |= public_host("http", name, port)
    return rule
