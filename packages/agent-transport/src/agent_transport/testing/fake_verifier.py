"""A token verifier that knows a fixed list of tokens."""

from __future__ import annotations

from collections.abc import Mapping

from agent_transport.admission.decision import Admitted
from agent_transport.admission.verifier import Refused, TokenFault


class FakeVerifier:
    """Implements `TokenVerifier`: `tokens` are admitted or refused as they say, others are bad.

    `asked` keeps the tokens in the order in which they came.
    """

    def __init__(self, tokens: Mapping[str, Admitted | TokenFault]) -> None:
        self.tokens = dict(tokens)
        self.asked: list[str] = []
        self.outage = False

    async def verify(self, token: str) -> Admitted | Refused:
        self.asked.append(token)
        if self.outage:
            return Refused(TokenFault.KEYS_UNAVAILABLE)
        verdict = self.tokens.get(token, TokenFault.BAD_SIGNATURE)
        return Refused(verdict) if isinstance(verdict, TokenFault) else verdict
