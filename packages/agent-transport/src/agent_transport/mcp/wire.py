"""HTTP and JSON-RPC answers as bytes, and what a POST body must look like."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import orjson
from mcp_types import INVALID_REQUEST, PARSE_ERROR, UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from agent_transport.admission.asgi import Send
from agent_transport.admission.decision import Refusal

Headers = Sequence[tuple[bytes, bytes]]

JSON_TYPE = (b"content-type", b"application/json")
CLOSE = (b"connection", b"close")
REQUEST_CANCELLED = -32800
"""The code of a call that its client cancelled; outside the ranges that the protocol reserves."""
SESSION_VERSIONS = list(reversed(HANDSHAKE_PROTOCOL_VERSIONS))


@dataclass(frozen=True, slots=True)
class Fault:
    """A message that cannot be processed: its HTTP status and JSON-RPC error."""

    status: int
    code: int
    message: str
    request_id: int | str | None = None
    data: Any = None


@dataclass(frozen=True, slots=True)
class Inbound:
    """A well-formed message. `request_id` None: a notification; `method` None: a response."""

    request_id: int | str | None
    method: str | None
    params: dict[str, Any] | None


def parse_message(body: bytes) -> Inbound | Fault:
    """Read one JSON-RPC message. A batch is a fault in every revision served here.

    Only 2025-03-26 had batches, and no client of ours sends one; see the decision records.
    """
    try:
        raw: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return Fault(400, PARSE_ERROR, "Parse error: the body is not valid JSON in UTF-8")
    if isinstance(raw, list):
        return Fault(400, INVALID_REQUEST, "Invalid request: send one message, not a batch")
    if not isinstance(raw, dict):
        return Fault(400, INVALID_REQUEST, "Invalid request: the body must be a JSON object")
    return _read(cast("dict[str, Any]", raw))


def _read(raw: dict[str, Any]) -> Inbound | Fault:
    request_id = raw.get("id")
    if "id" in raw and (type(request_id) not in (int, str)):
        return Fault(400, INVALID_REQUEST, "Invalid request: id must be a string or an integer")
    if raw.get("jsonrpc") != "2.0":
        return Fault(400, INVALID_REQUEST, "Invalid request: jsonrpc must be 2.0", request_id)
    method, params = raw.get("method"), raw.get("params")
    if method is None and ("result" in raw or "error" in raw):
        return Inbound(None, None, None)
    if not isinstance(method, str):
        return Fault(400, INVALID_REQUEST, "Invalid request: method must be a string", request_id)
    if params is not None and not isinstance(params, dict):
        return Fault(400, INVALID_REQUEST, "Invalid request: params must be an object", request_id)
    return Inbound(request_id, method, cast("dict[str, Any] | None", params))


def result_body(request_id: int | str, result: dict[str, Any]) -> bytes:
    """A JSON-RPC result."""
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "result": result})


def error_body(request_id: int | str | None, code: int, message: str, data: Any = None) -> bytes:
    """A JSON-RPC error; `data` None is left out."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "error": error})


def unsupported_version(requested: str, request_id: int | str | None) -> Fault:
    """The refusal that makes a client of another era fall back to a session."""
    return Fault(
        400,
        UNSUPPORTED_PROTOCOL_VERSION,
        "Unsupported protocol version",
        request_id,
        {"supported": SESSION_VERSIONS, "requested": requested},
    )


@lru_cache(maxsize=256)
def accepts(header: bytes | None, kind: bytes) -> bool:
    """Whether an Accept header admits `kind`, such as `application/json`; absent admits all."""
    if header is None:
        return True
    ranges = {kind, kind.split(b"/", 1)[0] + b"/*", b"*/*"}
    return any(_admits(part, ranges) for part in header.lower().split(b","))


def _admits(part: bytes, ranges: set[bytes]) -> bool:
    media, *parameters = (piece.strip() for piece in part.split(b";"))
    refused = any(re.fullmatch(rb"q=0(\.0*)?", parameter) for parameter in parameters)
    return media in ranges and not refused


async def respond(send: Send, status: int, body: bytes, headers: Headers) -> None:
    """Send one whole answer."""
    length = (b"content-length", str(len(body)).encode("ascii"))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


async def refuse(send: Send, refusal: Refusal | None, headers: Headers) -> None:
    """Send an empty refusal and close; None: nobody is there to read it."""
    if refusal is not None:
        await respond(send, refusal.status, b"", [*headers, *refusal.headers, CLOSE])


async def send_fault(send: Send, fault: Fault, headers: Headers) -> None:
    """Answer a message that cannot be processed."""
    body = error_body(fault.request_id, fault.code, fault.message, fault.data)
    await respond(send, fault.status, body, [*headers, JSON_TYPE])


def shape_fault(lines: Mapping[bytes, bytes]) -> Fault | None:
    """What the headers alone forbid: a body that is not JSON, an answer nobody would take."""
    kind = lines.get(b"content-type", b"").split(b";", 1)[0].strip().lower()
    if kind != b"application/json":
        return Fault(415, INVALID_REQUEST, "Unsupported media type: send application/json")
    if not accepts(lines.get(b"accept"), b"application/json"):
        return Fault(406, INVALID_REQUEST, "Not acceptable: accept application/json")
    return None


def id_text(inbound: Inbound) -> bytes:
    """The message's id as JSON."""
    return error_body(inbound.request_id, 0, "").split(b'"id":', 1)[1].split(b',"error"', 1)[0]
