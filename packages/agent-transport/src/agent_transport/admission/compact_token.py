"""A signed token in its compact form (RFC 7515 §3.1), taken apart and believed in nothing yet."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any

from agent_transport.admission.bearer import MAX_TOKEN_BYTES
from agent_transport.admission.json_object import read_json_object
from agent_transport.admission.verifier import TokenFault

TOKEN_TYPES = frozenset({"at+jwt", "application/at+jwt"})
"""RFC 9068 §2.1. An ID token, signed by the same key, must not open this door."""


@dataclass(frozen=True, slots=True)
class CompactToken:
    """The parts of a token. Nothing in it is true before the signature is verified."""

    algorithm: str
    key_id: str | None
    claims: dict[str, Any] = field(repr=False)
    signed: bytes = field(repr=False)
    signature: bytes = field(repr=False)


def parse_compact(token: str, algorithms: frozenset[str]) -> CompactToken | TokenFault:
    """Take a token apart and judge its header: type, then algorithm."""
    if len(token) > MAX_TOKEN_BYTES:
        return TokenFault.OVERSIZE
    parts = token.split(".") if token.isascii() else []
    decoded = [decode_base64url(part) for part in parts]
    if len(decoded) != 3:
        return TokenFault.MALFORMED
    header_text, claims_text, signature = decoded
    header = None if header_text is None else read_json_object(header_text)
    claims = None if claims_text is None else read_json_object(claims_text)
    if header is None or claims is None or signature is None:
        return TokenFault.MALFORMED
    signed = token.rpartition(".")[0].encode("ascii")
    return _judge_header(header, algorithms) or CompactToken(
        header["alg"], header.get("kid"), claims, signed, signature
    )


def decode_base64url(text: str) -> bytes | None:
    """Decode, or None: padding, other characters, or bits left over that should be zero."""
    padded = text.translate(_STANDARD) + "=" * (-len(text) % 4)
    if "+" in text or "/" in text or "=" in text:
        return None
    try:
        decoded = binascii.a2b_base64(padded, strict_mode=True) if text else b""
    except ValueError:
        return None
    return decoded if encode_base64url(decoded) == text else None


def encode_base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


_STANDARD = str.maketrans("-_", "+/")


def _judge_header(header: dict[str, Any], algorithms: frozenset[str]) -> TokenFault | None:
    kind, algorithm, key_id = header.get("typ"), header.get("alg"), header.get("kid")
    # `crit` names extensions that a reader must understand (RFC 7515 §4.1.11); we know none.
    if not isinstance(algorithm, str) or not isinstance(key_id, str | None) or "crit" in header:
        return TokenFault.MALFORMED
    if not isinstance(kind, str) or kind.lower() not in TOKEN_TYPES:
        return TokenFault.WRONG_TYPE
    if algorithm not in algorithms:
        return TokenFault.UNSUPPORTED_ALGORITHM
    return None
