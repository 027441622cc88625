"""Verifying the access tokens of one issuer (RFC 9068). Needs PyJWT and cryptography.

What can be refused without a key is refused before any key is looked for, so that a stranger
with a made-up token causes no traffic.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from functools import partial

from agent_transport.admission.compact_token import CompactToken, parse_compact
from agent_transport.admission.decision import Admitted
from agent_transport.admission.discovery import fetch_keys
from agent_transport.admission.fetch import Fetch
from agent_transport.admission.issuer_keys import IssuerKeys
from agent_transport.admission.key_set import SIGNATURE_KINDS
from agent_transport.admission.public_url import parse_public_url, split_https_url
from agent_transport.admission.scopes import is_scope
from agent_transport.admission.token_rules import TokenRules
from agent_transport.admission.verifier import Refused, TokenFault
from agent_transport.errors import ConfigurationError

DEFAULT_ALGORITHMS = ("RS256", "ES256", "EdDSA")

_log = logging.getLogger("agent_transport.admission")


class JwtVerifier:
    """A `TokenVerifier` for the tokens of one issuer; build it with `build_jwt_verifier`.

    `close` when it is no longer used: a fetch of keys may be under way.
    """

    def __init__(
        self,
        rules: TokenRules,
        keys: IssuerKeys,
        algorithms: frozenset[str],
        wall_clock: Callable[[], float],
    ) -> None:
        self._rules = rules
        self._keys = keys
        self._algorithms = algorithms
        self._wall_clock = wall_clock

    async def verify(self, token: str) -> Admitted | Refused:
        try:
            return await self._verify(token)
        except Exception as error:  # the contract: never raise; a fault of ours admits nobody
            _log.error("token_not_judged kind=%s", type(error).__name__)
            return Refused(TokenFault.KEYS_UNAVAILABLE)

    async def close(self) -> None:
        """End a fetch that is under way. May be called twice."""
        await self._keys.close()

    async def _verify(self, token: str) -> Admitted | Refused:
        parsed = parse_compact(token, self._algorithms)
        if isinstance(parsed, TokenFault):
            return Refused(parsed)
        fault = self._rules.refute(parsed.claims, self._wall_clock())
        fault = fault or await self._refute_signature(parsed)
        return Refused(fault) if fault else self._rules.admit(parsed.claims)

    async def _refute_signature(self, token: CompactToken) -> TokenFault | None:
        key = await self._keys.find(token)
        if isinstance(key, TokenFault):
            return key
        return None if key.has_signed(token) else TokenFault.BAD_SIGNATURE


def build_jwt_verifier(
    *,
    issuer: str,
    public_url: str,
    scopes: Sequence[str],
    fetch: Fetch,
    clock: Callable[[], float],
    wall_clock: Callable[[], float],
    subjects: Collection[str] = (),
    clients: Collection[str] = (),
    algorithms: Collection[str] = DEFAULT_ALGORITHMS,
) -> JwtVerifier:
    """Check the settings and build. `clock` is monotonic, `wall_clock` counts from the epoch.

    Raises:
        ConfigurationError: naming the field; also when neither subjects nor clients are listed,
            for then anybody with an account at the issuer could come in.
    """
    split_https_url(issuer, field="issuer")
    audience = parse_public_url(public_url).text
    for field, listed in (("subjects", subjects), ("clients", clients)):
        if isinstance(listed, str) or not all(listed):
            raise ConfigurationError(field, "must be a collection of names, none of them empty")
    if not subjects and not clients:
        raise ConfigurationError("subjects", "list at least one subject or client")
    if isinstance(scopes, str) or not scopes or not all(map(is_scope, scopes)):
        raise ConfigurationError("scopes", "must be a sequence of at least one scope")
    if isinstance(algorithms, str) or not algorithms or not SIGNATURE_KINDS.keys() >= {*algorithms}:
        known = ", ".join(SIGNATURE_KINDS)
        raise ConfigurationError("algorithms", f"must be some of {known}")
    rules = TokenRules(issuer, audience, tuple(scopes), frozenset(subjects), frozenset(clients))
    keys = IssuerKeys(partial(fetch_keys, issuer, fetch), clock)
    return JwtVerifier(rules, keys, frozenset(algorithms), wall_clock)
