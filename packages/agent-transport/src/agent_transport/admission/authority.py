"""Host and port as they are written in URLs, Host headers and origins (RFC 3986 §3.2)."""

from __future__ import annotations

from ipaddress import IPv6Address

DEFAULT_PORTS = {"http": 80, "https": 443}


def write_host(host: str) -> str:
    """The host as it stands in an authority: lower case, IPv6 in brackets and shortened."""
    try:
        return f"[{IPv6Address(host.strip('[]')).compressed}]"
    except ValueError:
        return host.lower()


def authorities(scheme: str, host: str, port: int) -> frozenset[str]:
    """Every way a client writes this authority: with the port, and bare if it is the default."""
    written = write_host(host)
    with_port = f"{written}:{port}"
    if DEFAULT_PORTS.get(scheme) == port:
        return frozenset((with_port, written))
    return frozenset((with_port,))


def write_origin(scheme: str, host: str, port: int) -> str:
    """The origin as a browser serialises it: never with the scheme's default port."""
    written = f"{scheme}://{write_host(host)}"
    return written if DEFAULT_PORTS.get(scheme) == port else f"{written}:{port}"
