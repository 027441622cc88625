"""Whose address a request comes from, and what kind of address that is.

A forwarded address is believed only from a configured proxy, and then only the right-most hop
that no proxy of ours has written about itself: everything further left is the client's own word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_HOPS_READ = 32
"""Nobody chains more proxies; a longer list is somebody making us work."""

_IPV6_SITE_BITS = 64
"""One customer holds a whole /64, and could otherwise come from a new address each time."""


class AddressClass(StrEnum):
    """The kind of an address: all that an audit record tells about it."""

    LOOPBACK = "loopback"
    PRIVATE = "private"
    PUBLIC = "public"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """The peers whose X-Forwarded-For is believed."""

    networks: tuple[Network, ...] = ()

    def __contains__(self, address: object) -> bool:
        return any(address in network for network in self.networks)


def parse_proxies(texts: Iterable[str]) -> TrustedProxies:
    """Read literal addresses and networks (`10.0.0.7`, `10.0.0.0/8`, `fd00::/8`).

    Raises:
        ValueError: a text is neither; a name is not resolved, for the answer could change.
    """
    return TrustedProxies(tuple(ip_network(text) for text in texts))


def parse_address(text: str) -> Address | None:
    """Read one literal address, an IPv4 one also when it comes mapped into IPv6."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return _unmapped(address)


def find_client_address(
    peer: str | None,
    headers: Iterable[tuple[bytes, bytes]],
    trusted: TrustedProxies = TrustedProxies(),
) -> Address | None:
    """The client's address: the socket's, or the right-most hop that is no trusted proxy.

    `peer` is the socket's address, None where there is none. A hop that is no address ends the
    search: the proxy that passed it on is then as far as we can see.
    """
    seen = parse_address(peer) if peer else None
    if seen is None or seen not in trusted:
        return seen
    for hop in reversed(_forwarded_hops(headers)[-_HOPS_READ:]):
        address = _parse_hop(hop)
        if address is None:
            break
        seen = address
        if seen not in trusted:
            break
    return seen


def address_class(address: Address | None) -> AddressClass:
    """Classify. What is neither loopback nor reachable from everywhere is private."""
    if address is None:
        return AddressClass.UNKNOWN
    if address.is_loopback:
        return AddressClass.LOOPBACK
    return AddressClass.PUBLIC if address.is_global else AddressClass.PRIVATE


def throttle_key(address: Address | None) -> str:
    """The key under which failures of this address are counted: an IPv6 site counts as one."""
    if address is None:
        return ""
    if isinstance(address, IPv6Address):
        return str(IPv6Network((int(address), _IPV6_SITE_BITS), strict=False).network_address)
    return str(address)


def _forwarded_hops(headers: Iterable[tuple[bytes, bytes]]) -> Sequence[str]:
    lines = [value for name, value in headers if name == b"x-forwarded-for"]
    return b",".join(lines).decode("latin-1").split(",")


def _parse_hop(hop: str) -> Address | None:
    """One hop, as proxies write it: bare, `v4:port`, `[v6]` or `[v6]:port`."""
    hop = hop.strip(" \t")
    if hop.startswith("["):
        hop = hop[1:].partition("]")[0]
    elif hop.count(":") == 1:
        hop = hop.partition(":")[0]
    return parse_address(hop)


def _unmapped(address: Address) -> Address:
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
