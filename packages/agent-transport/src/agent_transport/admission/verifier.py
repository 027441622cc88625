"""The contract between a gate and whatever knows which tokens are good."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from agent_transport.admission.decision import Admitted


class TokenFault(StrEnum):
    """Why a token was not accepted. A closed set: audit records hold nothing else about it."""

    MISSING_TOKEN = "missing_token"
    OVERSIZE = "oversize"
    MALFORMED = "malformed"
    WRONG_TYPE = "wrong_type"
    UNSUPPORTED_ALGORITHM = "unsupported_algorithm"
    AMBIGUOUS_KEY = "ambiguous_key"
    UNKNOWN_KEY = "unknown_key"
    KEY_MISMATCH = "key_mismatch"
    BAD_SIGNATURE = "bad_signature"
    WRONG_ISSUER = "wrong_issuer"
    WRONG_AUDIENCE = "wrong_audience"
    EXPIRED = "expired"
    NOT_YET_VALID = "not_yet_valid"
    MISSING_SCOPE = "missing_scope"
    PRINCIPAL_NOT_ALLOWED = "principal_not_allowed"
    KEYS_UNAVAILABLE = "keys_unavailable"


@dataclass(frozen=True, slots=True)
class Refused:
    """A verifier's no. KEYS_UNAVAILABLE says it could not tell; all others are final."""

    reason: TokenFault


class TokenVerifier(Protocol):
    """Decides about one token.

    `verify` never raises and may run any number of times at once. The token has passed
    `parse_bearer`: ASCII, well-formed, bounded. It must not be logged or kept.
    """

    async def verify(self, token: str) -> Admitted | Refused: ...
