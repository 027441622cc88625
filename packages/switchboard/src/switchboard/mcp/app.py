"""The ASGI application of `/mcp/{slug}`: admission in order, then the carrier."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.shared.exceptions import MCPError

from agent_transport.admission import (
    PLAIN_CHALLENGE,
    SECURITY_HEADERS,
    BearerFault,
    Buckets,
    HostRule,
    OriginRule,
    Rate,
    Reason,
    Refusal,
    TrustedProxies,
    find_client_address,
    parse_bearer,
    prefixed_shape,
    retry_after,
    send_refusal,
    throttle_key,
)
from agent_transport.admission.asgi import Receive, Scope, Send
from agent_transport.mcp import CarrierLimits, EndReason, McpHttpCarrier
from switchboard.clock import Clock
from switchboard.domain.credential import hash_secret
from switchboard.domain.endpoint import Caller, Protocol, Verb
from switchboard.errors import StoreError
from switchboard.mcp.catalog import instructions, tools
from switchboard.mcp.doorbells import Doorbells
from switchboard.mcp.listening import Listening
from switchboard.mcp.sessions import StoredSessions
from switchboard.mcp.tools import Tools
from switchboard.notifier import EndpointEnded, EndWhy, Notifier, Signal
from switchboard.service.agent_work import AgentWork
from switchboard.service.last_seen import LastSeen
from switchboard.service.leases import Leases
from switchboard.service.waiting import WaitingRoom
from switchboard.store import Store

_log = logging.getLogger(__name__)
ENDPOINT_RATE = Rate(20, 40)
ADDRESS_RATE = Rate(50, 100)
_SHAPE = prefixed_shape(b"sbk_", 43)
_UNKNOWN = Refusal(401, Reason.CREDENTIAL, (PLAIN_CHALLENGE,))
_UNSHARED = CacheHint(0, "private")
"""What an endpoint is shown depends on its grants, and these can change at any time."""
_ENDS = {EndWhy.REVOKED: EndReason.REVOKED, EndWhy.EXPIRED: EndReason.EXPIRED}


@dataclass(frozen=True, slots=True)
class SurfaceLimits:
    """What the surface is told from the settings."""

    host: HostRule
    origin: OriginRule
    trusted_proxies: TrustedProxies
    endpoint_rate: Rate = ENDPOINT_RATE
    address_rate: Rate = ADDRESS_RATE
    max_json_bytes: int = 65_536
    channel_clients: tuple[str, ...] = ("claude-code",)
    version: str = "0"


class AgentSurface:
    """Serves agents. Start before the first request; `last_seen.flush` and `sessions.flush`
    belong to `Upkeep`."""

    def __init__(
        self,
        store: Store,
        leases: Leases,
        waiting: WaitingRoom,
        notifier: Notifier,
        limits: SurfaceLimits,
        clock: Clock,
        random: Callable[[], float],
    ) -> None:
        self._store = store
        self._notifier = notifier
        self._limits = limits
        self._clock = clock
        self._random = random
        self._endpoints = Buckets(limits.endpoint_rate)
        self._addresses = Buckets(limits.address_rate)
        max_json_bytes = limits.max_json_bytes
        work = AgentWork(store, notifier, clock, secrets.token_bytes, max_json_bytes=max_json_bytes)
        self._tools = Tools(store, leases, work, max_json_bytes=max_json_bytes)
        self._unsubscribe: tuple[Callable[[], None], ...] = ()
        self.last_seen = LastSeen(store)
        self.sessions = StoredSessions(
            store,
            clock,
            streaming=lambda: self.bells.session_ids(),
            on_ended=lambda caller, ended: self._carrier.end_session(caller.endpoint_id, ended),
        )
        self.bells = Doorbells(store, waiting, clock, spoke_at=self.sessions.spoke_at)
        self._listening = Listening(
            self.bells,
            streams_of=self.bells.streams_of,
            opened=self.sessions.note_spoke,
            most=CarrierLimits().streams_per_key,
        )
        self._carrier: McpHttpCarrier[Caller] = McpHttpCarrier(
            self._server(),
            sessions=self.sessions,
            key=lambda caller: caller.endpoint_id,
            observer=self.bells,
            refuse_modern=self._refuses_modern,
        )

    async def start(self) -> None:
        """Begin to listen for signals."""
        await self._carrier.start()
        self.bells.start()
        subscribe = self._notifier.subscribe
        self._unsubscribe = (subscribe(self._end), subscribe(self.bells.on_signal))

    def drain(self) -> None:
        """End streams and waiting claims; open nothing new."""
        self._carrier.drain()

    async def stop(self) -> None:
        """Drain and finish what is under way."""
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        await self._carrier.stop()
        await self.bells.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        decision = await self._admit(scope)
        if isinstance(decision, Refusal):
            await send_refusal(send, decision)
            return
        await self._carrier.serve(scope, receive, send, caller=decision, headers=SECURITY_HEADERS)

    async def _admit(self, scope: Scope) -> Caller | Refusal:
        headers = scope["headers"]
        if not self._limits.host.admits(headers):
            _log.info("host_refused: Host is not the public URL's; set public_url")
            return Refusal(403, Reason.HOST)
        if not self._limits.origin.admits(headers):
            return Refusal(403, Reason.ORIGIN)
        try:
            caller = await self._authenticate(scope)
        except StoreError:
            _log.warning("credential_unreadable", exc_info=True)
            return Refusal(503, Reason.UNAVAILABLE, ((b"retry-after", b"2"),))
        return self._refused(scope) if caller is None else self._admit_caller(scope, caller)

    async def _authenticate(self, scope: Scope) -> Caller | None:
        bearer = parse_bearer(scope["headers"], shape=_SHAPE)
        if isinstance(bearer, BearerFault):
            return None
        return await self._store.caller_by_credential(hash_secret(bearer.token))

    def _refused(self, scope: Scope) -> Refusal:
        peer = scope.get("client")
        address = find_client_address(
            peer[0] if peer else None, scope["headers"], self._limits.trusted_proxies
        )
        wait_s = self._addresses.take(throttle_key(address), time.monotonic())
        return self._throttled(wait_s) if wait_s > 0 else _UNKNOWN

    def _admit_caller(self, scope: Scope, caller: Caller) -> Caller | Refusal:
        slug, _, rest = scope["path"].removeprefix("/mcp/").partition("/")
        if slug != caller.slug:
            return Refusal(403, Reason.FOREIGN_CREDENTIAL)
        self.last_seen.stamp(caller.endpoint_id, self._clock.now_ms())
        if rest:
            return Refusal(404, Reason.PATH)
        wait_s = self._endpoints.take(caller.endpoint_id, time.monotonic())
        return self._throttled(wait_s) if wait_s > 0 else caller

    def _throttled(self, wait_s: float) -> Refusal:
        return Refusal(429, Reason.THROTTLED, (retry_after(wait_s, self._random),))

    def _refuses_modern(self, caller: Caller, client: str | None) -> bool:
        names = self._limits.channel_clients
        return caller.protocol is Protocol.LEGACY or (client or "").startswith(names)

    def _end(self, signal: Signal) -> None:
        if isinstance(signal, EndpointEnded):
            self._carrier.end(signal.endpoint_id, _ENDS[signal.why])

    def _server(self) -> Server[Any]:
        async def list_tools(ctx: Any, params: Any) -> Any:
            granted: tuple[Verb, ...] = ctx.request.caller.verbs
            return {"tools": tools(granted), "resultType": "complete"}

        async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
            try:
                verb = Verb(params.name)
            except ValueError:
                raise MCPError(types.INVALID_PARAMS, "Unknown tool") from None
            return await self._tools.call(verb, params.arguments or {}, ctx.request)

        async def listen(ctx: Any, params: Any) -> Any:
            return await self._listening.serve(ctx, params)

        async def announce(ctx: Any, call_next: Any) -> Any:
            result = await call_next(ctx)
            if ctx.method == "initialize":
                result["capabilities"]["experimental"] = {"claude/channel": {}}
                result["instructions"] = instructions(ctx.request.caller.verbs)
            elif ctx.method == "server/discover":
                result["instructions"] = instructions(ctx.request.caller.verbs)
                # Listening is served for doorbells alone: the list of tools never changes.
                result["capabilities"]["tools"].pop("listChanged", None)
            return result

        server: Server[Any] = Server(
            "switchboard",
            version=self._limits.version,
            cache_hints=dict.fromkeys(("tools/list", "server/discover"), _UNSHARED),
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_subscriptions_listen=listen,
        )
        server.middleware[:] = [announce]
        return server
