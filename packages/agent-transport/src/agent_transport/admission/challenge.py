"""The WWW-Authenticate values of RFC 6750 §3 and RFC 9728 §5.1, never with a description.

A description would tell a stranger which check failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from agent_transport.admission.scopes import write_scopes

PLAIN_CHALLENGE = (b"www-authenticate", b"Bearer")
"""For credentials that no authorization server hands out: there is nothing to point at."""


class ChallengeError(StrEnum):
    """The RFC 6750 §3.1 codes that a refusal may carry."""

    INVALID_TOKEN = "invalid_token"
    INSUFFICIENT_SCOPE = "insufficient_scope"


def resource_challenge(
    scopes: Sequence[str], resource_metadata: str, error: ChallengeError | None = None
) -> tuple[bytes, bytes]:
    """The challenge of a resource server. `error` is None when no token was presented."""
    parts = [] if error is None else [f'error="{error}"']
    parts += [f'scope="{write_scopes(scopes)}"', f'resource_metadata="{resource_metadata}"']
    return b"www-authenticate", f"Bearer {', '.join(parts)}".encode("ascii")
