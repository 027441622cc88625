"""Who may speak under `/mcp/`, decided in order before the body is read."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from agent_transport.admission import (
    PLAIN_CHALLENGE,
    BearerFault,
    Buckets,
    HostRule,
    OriginRule,
    Rate,
    Reason,
    Refusal,
    TrustedProxies,
    find_client_address,
    is_preflight,
    parse_bearer,
    prefixed_shape,
    retry_after,
    throttle_key,
)
from agent_transport.admission.asgi import Scope
from switchboard.clock import Clock
from switchboard.domain.credential import hash_secret
from switchboard.domain.endpoint import Caller
from switchboard.errors import StoreError
from switchboard.service.last_seen import LastSeen
from switchboard.store import Endpoints

_log = logging.getLogger(__name__)
ENDPOINT_RATE = Rate(20, 40)
ADDRESS_RATE = Rate(50, 100)
STORE_BACK_S = 2.0
"""Long enough for a lock or a restart, short enough to go unnoticed."""
_SHAPE = prefixed_shape(b"sbk_", 43)
_UNKNOWN = Refusal(401, Reason.CREDENTIAL, (PLAIN_CHALLENGE,))


@dataclass(frozen=True, slots=True)
class SurfaceLimits:
    """What the surface is told from the settings."""

    host: HostRule
    origin: OriginRule
    trusted_proxies: TrustedProxies
    endpoint_rate: Rate = ENDPOINT_RATE
    address_rate: Rate = ADDRESS_RATE
    max_json_bytes: int = 65_536
    sessions_per_endpoint: int = 256
    streams_per_endpoint: int = 32
    calls_per_endpoint: int = 64
    channel_clients: tuple[str, ...] = ("claude-code",)
    version: str = "0"


class AgentAdmission:
    """Order: Host, Origin, credential, slug, the endpoint's bucket, the rest of the path."""

    def __init__(
        self,
        store: Endpoints,
        limits: SurfaceLimits,
        last_seen: LastSeen,
        clock: Clock,
        random: Callable[[], float],
    ) -> None:
        self._store = store
        self._limits = limits
        self._last_seen = last_seen
        self._clock = clock
        self._random = random
        self._endpoints = Buckets(limits.endpoint_rate)
        self._addresses = Buckets(limits.address_rate)

    def is_preflight(self, scope: Scope, origin: bytes) -> bool:
        """Whether a listed page asks, without a credential, what it may send. Runs nothing."""
        headers = scope["headers"]
        return (
            is_preflight(scope["method"], headers)
            and origin in self._limits.origin.accepted
            and self._limits.host.admits(headers)
        )

    async def decide(self, scope: Scope, origin: bytes | None) -> Caller | Refusal:
        """The caller, or the one answer that it gets."""
        if not self._limits.host.admits(scope["headers"]):
            _log.info("host_refused: Host is not the public URL's; set public_url")
            return Refusal(403, Reason.HOST)
        if origin is not None and origin not in self._limits.origin.accepted:
            # A page that is not listed learns from its preflight no more than any stranger.
            is_asking = scope["method"] == "OPTIONS"
            if is_asking:
                return self._refused(scope)
            _log.info("origin_refused: this page's Origin is not listed; set allowed_origins")
            return Refusal(403, Reason.ORIGIN)
        try:
            caller = await self._authenticate(scope)
        except StoreError:
            _log.warning("credential_unreadable", exc_info=True)
            wait = retry_after(STORE_BACK_S, self._random)
            return Refusal(503, Reason.UNAVAILABLE, (wait,))
        return self._refused(scope) if caller is None else self._admit(scope, caller)

    async def _authenticate(self, scope: Scope) -> Caller | None:
        bearer = parse_bearer(scope["headers"], shape=_SHAPE)
        if isinstance(bearer, BearerFault):
            return None
        return await self._store.caller_by_credential(hash_secret(bearer.token))

    def _refused(self, scope: Scope) -> Refusal:
        """A failure is counted for its address only now: a good credential is never in its way."""
        peer = scope.get("client")
        address = find_client_address(
            peer[0] if peer else None, scope["headers"], self._limits.trusted_proxies
        )
        wait_s = self._addresses.take(throttle_key(address), time.monotonic())
        return self._throttled(wait_s) if wait_s > 0 else _UNKNOWN

    def _admit(self, scope: Scope, caller: Caller) -> Caller | Refusal:
        slug, _, rest = scope["path"].removeprefix("/mcp/").partition("/")
        if slug != caller.slug:
            return Refusal(403, Reason.FOREIGN_CREDENTIAL)
        self._last_seen.stamp(caller.endpoint_id, self._clock.now_ms())
        wait_s = self._endpoints.take(caller.endpoint_id, time.monotonic())
        if wait_s > 0:
            return self._throttled(wait_s)
        return Refusal(404, Reason.PATH) if rest else caller

    def _throttled(self, wait_s: float) -> Refusal:
        return Refusal(429, Reason.THROTTLED, (retry_after(wait_s, self._random),))
