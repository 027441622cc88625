"""The public keys of an issuer (RFC 7517), and which of them a token may be verified with.

A key is chosen by its id *and* its shape. Taking the first key with the right id, whatever its
type, is how a public key became an HMAC secret elsewhere.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from jwt.algorithms import Algorithm, ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from agent_transport.admission.compact_token import CompactToken
from agent_transport.admission.json_object import read_json_object
from agent_transport.admission.verifier import TokenFault

MAX_KEYS = 32
"""Issuers publish a handful; a longer list makes every look-up slower."""

LEAST_RSA_BITS = 2048
_PRIVATE_PARTS = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
_log = logging.getLogger("agent_transport.admission")


@dataclass(frozen=True, slots=True)
class SignatureKind:
    """One signature algorithm: how its keys look and how it verifies."""

    name: str
    key_type: str
    curve: str | None
    algorithm: Algorithm


SIGNATURE_KINDS: Mapping[str, SignatureKind] = {
    "RS256": SignatureKind("RS256", "RSA", None, RSAAlgorithm(RSAAlgorithm.SHA256)),
    "ES256": SignatureKind("ES256", "EC", "P-256", ECAlgorithm(ECAlgorithm.SHA256)),
    "EdDSA": SignatureKind("EdDSA", "OKP", "Ed25519", OKPAlgorithm()),
}
"""All that can be configured. Nothing symmetric: whoever can verify could sign."""


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """One published key. `kind` is None for a key that verifies nothing here."""

    key_id: str | None
    kind: SignatureKind | None
    material: Any = field(repr=False, default=None)

    def has_signed(self, token: CompactToken) -> bool:
        if self.kind is None:
            return False
        return self.kind.algorithm.verify(token.signed, self.material, token.signature)


def parse_key_set(document: bytes) -> tuple[VerificationKey, ...] | None:
    """Read a JWK Set, or None when it is none or has too many keys.

    A key that cannot be used keeps its place by id: a token that names it is a mismatch, not a
    reason to ask the issuer again.
    """
    keys: Any = (read_json_object(document) or {}).get("keys")
    if not isinstance(keys, list):
        return None
    entries = cast("list[Any]", keys)
    if len(entries) > MAX_KEYS:
        return None
    return tuple(_parse_key(cast("dict[str, Any]", e)) for e in entries if isinstance(e, dict))


def choose_key(
    keys: Sequence[VerificationKey], token: CompactToken
) -> VerificationKey | TokenFault:
    """Choose the one key that fits the token's key id and algorithm.

    A token without a key id is taken only if a single key fits it.
    """
    named = [key for key in keys if token.key_id is None or key.key_id == token.key_id]
    fitting = [key for key in named if key.kind is not None and key.kind.name == token.algorithm]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        return TokenFault.AMBIGUOUS_KEY
    return TokenFault.KEY_MISMATCH if named and token.key_id else TokenFault.UNKNOWN_KEY


def _parse_key(entry: dict[str, Any]) -> VerificationKey:
    name = entry.get("kid")
    key_id = name if isinstance(name, str) else None
    if _PRIVATE_PARTS & entry.keys():
        _log.error("issuer_publishes_private_key: the key is not used")
        return VerificationKey(key_id, None)
    kind = next((kind for kind in SIGNATURE_KINDS.values() if _fits(kind, entry)), None)
    material = None if kind is None else _load(kind, entry)
    return VerificationKey(key_id, kind if material is not None else None, material)


def _fits(kind: SignatureKind, entry: dict[str, Any]) -> bool:
    operations = entry.get("key_ops", ["verify"])
    return (
        entry.get("kty") == kind.key_type
        and (kind.curve is None or entry.get("crv") == kind.curve)
        and entry.get("use", "sig") == "sig"
        and entry.get("alg", kind.name) == kind.name
        and isinstance(operations, list)
        and "verify" in operations
    )


def _load(kind: SignatureKind, entry: dict[str, Any]) -> Any:
    try:
        material: Any = kind.algorithm.from_jwk(entry)
    except Exception:  # a published key is foreign data; the libraries raise of many kinds
        return None
    if kind.key_type == "RSA" and material.key_size < LEAST_RSA_BITS:
        return None
    return material
