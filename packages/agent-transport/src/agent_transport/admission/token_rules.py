"""What the claims of an access token must say (RFC 9068 §4): pure, the time is passed in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent_transport.admission.decision import Admitted
from agent_transport.admission.scopes import lacks_scope, parse_scopes
from agent_transport.admission.verifier import Refused, TokenFault

CLOCK_SKEW_S = 60
"""How far the issuer's clock and ours may be apart."""

Claims = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TokenRules:
    """Who may issue, for whom, what is needed, and who may come: nobody unless listed.

    A subject is a person or a service; a client is the program it uses. Either may be listed.
    """

    issuer: str
    audience: str
    scopes: tuple[str, ...]
    subjects: frozenset[str]
    clients: frozenset[str]

    def refute(self, claims: Claims, now_s: float) -> TokenFault | None:
        """Find what makes the token useless here whoever signed it: no key is needed for it."""
        if claims.get("iss") != self.issuer:
            return TokenFault.WRONG_ISSUER
        if not _is_for(self.audience, claims.get("aud")):
            return TokenFault.WRONG_AUDIENCE
        return _judge_time(claims, now_s) or (
            None if self._principal(claims) else TokenFault.PRINCIPAL_NOT_ALLOWED
        )

    def admit(self, claims: Claims) -> Admitted | Refused:
        """Admit verified claims that `refute` had nothing against."""
        principal = self._principal(claims)
        if principal is None:
            return Refused(TokenFault.PRINCIPAL_NOT_ALLOWED)
        scope = claims.get("scope")
        granted = parse_scopes(scope) if isinstance(scope, str) else frozenset[str]()
        if lacks_scope(self.scopes, granted):
            return Refused(TokenFault.MISSING_SCOPE)
        return Admitted(principal, granted)

    def _principal(self, claims: Claims) -> str | None:
        subject, client = claims.get("sub"), claims.get("client_id")
        if isinstance(subject, str) and subject in self.subjects:
            return f"subject:{subject}"
        if isinstance(client, str) and client in self.clients:
            return f"client:{client}"
        return None


def _is_for(audience: str, claimed: Any) -> bool:
    return claimed == audience if isinstance(claimed, str) else _holds(claimed, audience)


def _holds(claimed: Any, audience: str) -> bool:
    return isinstance(claimed, list) and audience in claimed


def _judge_time(claims: Claims, now_s: float) -> TokenFault | None:
    expires: Any = claims.get("exp")
    begins = [claims[name] for name in ("nbf", "iat") if name in claims]
    if not all(map(_is_time, (expires, *begins))):
        return TokenFault.MALFORMED
    if now_s >= expires + CLOCK_SKEW_S:
        return TokenFault.EXPIRED
    # A token issued in the future comes from a clock that is wrong, or from a replay to come.
    if any(begin - CLOCK_SKEW_S > now_s for begin in begins):
        return TokenFault.NOT_YET_VALID
    return None


def _is_time(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)
