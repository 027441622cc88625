"""The Origin rule: which web pages may speak to this server. Absent means no page is speaking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from agent_transport.admission.authority import DEFAULT_PORTS, write_origin


@dataclass(frozen=True, slots=True)
class OriginRule:
    """The origins that are accepted, byte for byte.

    Never by prefix (`http://localhost.evil.example` starts like `http://localhost`), and `null`,
    which any sandboxed page can send, is never in the set.
    """

    accepted: frozenset[bytes]

    def __or__(self, other: OriginRule) -> OriginRule:
        return OriginRule(self.accepted | other.accepted)

    def admits(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Tell whether Origin is absent, or given once and accepted."""
        found = find_origin(headers)
        return found is None or found in self.accepted


def find_origin(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The Origin header; None when there is none, and no origin at all when there are two."""
    found: bytes | None = None
    for name, value in headers:
        if name == b"origin":
            found = value if found is None else b""
    return found


def origin_rule(*origins: str) -> OriginRule:
    """Accept these origins, each written `scheme://host[:port]`.

    Raises:
        ValueError: one of them is no origin (a path, a wildcard, `null`).
    """
    return OriginRule(frozenset(parse_origin(origin).encode() for origin in origins))


def parse_origin(text: str) -> str:
    """Bring a configured origin into the form that browsers send.

    Raises:
        ValueError: the text is not exactly a scheme, a host and perhaps a port.
    """
    parts = urlsplit(text)
    host, scheme = parts.hostname, parts.scheme
    if not host or scheme not in DEFAULT_PORTS or "*" in text or not text.isascii():
        raise ValueError("an origin is http or https, '://', a host and perhaps a port")
    if parts.path or parts.query or parts.fragment or "@" in parts.netloc or text[-1] in "?#:":
        raise ValueError("an origin ends after the host and the port")
    return write_origin(scheme, host, parts.port or DEFAULT_PORTS[scheme])
