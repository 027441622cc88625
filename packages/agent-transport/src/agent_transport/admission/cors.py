"""What a browser is told of an admitted Origin: what its page may send, and what it may read.

Only pages whose origin was listed get these lines. There is no `Allow-Credentials`: a page must
hold a bearer of its own, and what the browser would add by itself carries nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent_transport.admission.decision import Headers

PREFLIGHT_AGE_S = 600
"""How long a browser may remember the answer; a list of origins that shrinks is obeyed by then."""

_METHODS = b"GET, POST, DELETE"
_SENT = (
    b"Accept, Authorization, Content-Type, Last-Event-ID, "
    b"Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id"
)
_READ = b"Mcp-Session-Id, Retry-After, WWW-Authenticate"
"""A page that could not read its session id could send one request, and no second one."""


def is_preflight(method: str, headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Tell whether a browser asks for permission before a request (Fetch, CORS-preflight)."""
    return method == "OPTIONS" and any(
        name == b"access-control-request-method" for name, _ in headers
    )


def cross_origin_headers(origin: bytes) -> Headers:
    """On every answer to a page of this origin, refusals too: else it could not tell them apart."""
    return (
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", _READ),
        (b"vary", b"Origin"),
    )


def preflight_headers(origin: bytes) -> Headers:
    """What a page of this origin may send."""
    return (
        (b"access-control-allow-origin", origin),
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-allow-headers", _SENT),
        (b"access-control-max-age", str(PREFLIGHT_AGE_S).encode("ascii")),
        (b"vary", b"Origin"),
    )
