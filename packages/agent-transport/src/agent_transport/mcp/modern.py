"""One message of the 2026-07-28 era: what its headers and envelope must say, and its kernel.

Such a message stands alone: no session, no handshake, nothing remembered. The checks are the
SDK's; here is only which of them applies and what a refusal looks like.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
    validate_mcp_param_headers,
)
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    HEADER_MISMATCH,
    INVALID_REQUEST,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from agent_transport.mcp.wire import Fault, Headers, Inbound, accepts

LISTEN = "subscriptions/listen"
_HANDSHAKE = frozenset(version.encode("ascii") for version in HANDSHAKE_PROTOCOL_VERSIONS)


def is_modern(lines: Mapping[bytes, bytes]) -> bool:
    """Whether the version header names no session version; the header alone decides the era."""
    version = lines.get(b"mcp-protocol-version")
    return version is not None and version not in _HANDSHAKE


def client_name(inbound: Inbound) -> str | None:
    """The name in the message's envelope; it is a claim, never an identity."""
    info = _meta(inbound).get(CLIENT_INFO_META_KEY)
    name = cast("dict[str, Any]", info).get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else None


def claims_modern(inbound: Inbound) -> bool:
    """Whether the envelope names a version of this era, whatever the headers say."""
    return _meta(inbound).get(PROTOCOL_VERSION_META_KEY) in MODERN_PROTOCOL_VERSIONS


def status_of(code: int) -> int:
    """The HTTP status of a JSON-RPC error in this era."""
    return ERROR_CODE_HTTP_STATUS.get(code, 200)


def modern_fault(
    server: Server[Any], raw: Headers, lines: Mapping[bytes, bytes], inbound: Inbound
) -> Fault | None:
    """What forbids this message, if anything: version, routing headers, envelope, Accept."""
    version = lines[b"mcp-protocol-version"].decode("latin-1")
    if version not in MODERN_PROTOCOL_VERSIONS and not _meta(inbound):
        return _unsupported(inbound, version)
    if inbound.method is None:
        return Fault(400, INVALID_REQUEST, "Invalid request: send a request or a notification")
    if inbound.request_id is None:
        return None
    listens = inbound.method == LISTEN
    if listens and not accepts(lines.get(b"accept"), b"text/event-stream"):
        message = "Not acceptable: accept text/event-stream"
        return Fault(406, INVALID_REQUEST, message, inbound.request_id)
    rejected = _rejection(server, raw, lines, inbound)
    if rejected is None:
        return None
    if rejected.code == UNSUPPORTED_PROTOCOL_VERSION:
        return _unsupported(inbound, version)
    status = status_of(rejected.code)
    return Fault(status, rejected.code, rejected.message, inbound.request_id, rejected.data)


def modern_runner(server: Server[Any], state: Any, inbound: Inbound) -> ServerRunner[Any]:
    """A kernel for one message whose envelope `modern_fault` has found good."""
    envelope = _meta(inbound)
    connection = Connection.from_envelope(
        envelope[PROTOCOL_VERSION_META_KEY],
        envelope.get(CLIENT_INFO_META_KEY),
        envelope[CLIENT_CAPABILITIES_META_KEY],
    )
    return ServerRunner(server, connection, state)


def _rejection(
    server: Server[Any], raw: Headers, lines: Mapping[bytes, bytes], inbound: Inbound
) -> InboundLadderRejection | None:
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw]
    twice = find_duplicated_routing_header(pairs) if len(pairs) != len(lines) else None
    if twice is not None:
        # A proxy may route by the first copy and a server by the last: neither is trusted.
        return InboundLadderRejection(HEADER_MISMATCH, f"{twice} header appears more than once")
    verdict = classify_inbound_request(_body(inbound), headers=dict(pairs))
    if isinstance(verdict, InboundLadderRejection):
        return verdict
    return _param_rejection(server, pairs, inbound)


def _param_rejection(
    server: Server[Any], pairs: list[tuple[str, str]], inbound: Inbound
) -> InboundLadderRejection | None:
    """Mcp-Param-* against the tool's schema, for a server that says where its schemas are."""
    lookup = server.get_tool_input_schema
    params = inbound.params or {}
    name: Any = params.get("name")
    arguments: Any = params.get("arguments")
    if lookup is None or inbound.method != "tools/call" or not isinstance(name, str):
        return None
    schema = lookup(name)
    if schema is None or not isinstance(arguments, dict | None):
        return None
    given = cast("dict[str, Any]", arguments or {})
    names = [header for header, _ in pairs if header.startswith("mcp-param-")]
    if len(names) != len(set(names)):
        return InboundLadderRejection(HEADER_MISMATCH, "An Mcp-Param header appears twice")
    return validate_mcp_param_headers(schema, given, dict(pairs))


def _unsupported(inbound: Inbound, requested: str) -> Fault:
    # The versions that `server/discover` names: session versions are negotiated by initialize.
    data = {"supported": list(MODERN_PROTOCOL_VERSIONS), "requested": requested}
    message = "Unsupported protocol version"
    return Fault(400, UNSUPPORTED_PROTOCOL_VERSION, message, inbound.request_id, data)


def _meta(inbound: Inbound) -> dict[str, Any]:
    meta = (inbound.params or {}).get("_meta")
    return cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}


def _body(inbound: Inbound) -> dict[str, Any]:
    return {"method": inbound.method, "params": inbound.params}
