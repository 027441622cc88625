"""The ASGI application of `/mcp/{slug}`: admission in order, then the carrier."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.shared.exceptions import MCPError

from agent_transport.admission import (
    SECURITY_HEADERS,
    Refusal,
    cross_origin_headers,
    find_origin,
    preflight_headers,
    send_empty,
    send_refusal,
)
from agent_transport.admission.asgi import Receive, Scope, Send
from agent_transport.mcp import Call, CarrierLimits, EndReason, McpHttpCarrier
from switchboard.clock import Clock
from switchboard.domain.endpoint import Caller, EndpointId, Protocol, Verb
from switchboard.mcp.admission import AgentAdmission, SurfaceLimits
from switchboard.mcp.answers import Answer, spelled_out
from switchboard.mcp.catalog import instructions, tools
from switchboard.mcp.doorbells import Doorbells
from switchboard.mcp.listening import Listening
from switchboard.mcp.plain_calls import in_modern_era, in_session_era, plain_call
from switchboard.mcp.sessions import StoredSessions
from switchboard.mcp.tools import Tools
from switchboard.notifier import CredentialEnded, EndpointEnded, EndWhy, Notifier, Signal
from switchboard.request_scope import request_at_hand
from switchboard.service.agent_work import AgentWork
from switchboard.service.last_seen import LastSeen
from switchboard.service.leases import Leases
from switchboard.service.waiting import WaitingRoom
from switchboard.store import Store

__all__ = ["AgentSurface", "SurfaceLimits"]

_log = logging.getLogger(__name__)
_UNSHARED = CacheHint(0, "private")
"""What an endpoint is shown depends on its grants, and these can change at any time."""
_VERBS = {verb.value: verb for verb in Verb}
_ENDS = {EndWhy.REVOKED: EndReason.REVOKED, EndWhy.EXPIRED: EndReason.EXPIRED}


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
        max_json_bytes = limits.max_json_bytes
        work = AgentWork(store, notifier, clock, secrets.token_bytes, max_json_bytes=max_json_bytes)
        self._tools = Tools(store, leases, work, max_json_bytes=max_json_bytes, random=random)
        self._unsubscribe: tuple[Callable[[], None], ...] = ()
        self.last_seen = LastSeen(store)
        self._admission = AgentAdmission(store, limits, self.last_seen, clock, random)
        self.sessions = StoredSessions(
            store,
            clock,
            streaming=self._listening_sessions,
            on_ended=lambda caller, ended: self._carrier.end_session(caller.endpoint_id, ended),
            keep=limits.sessions_per_endpoint,
        )
        self._waiting = waiting
        self.bells = Doorbells(store, waiting, clock, spoke_at=self.sessions.spoke_at)
        self._listening = Listening(
            self.bells,
            streams_of=self.bells.streams_of,
            opened=self.sessions.note_spoke,
            most=limits.streams_per_endpoint,
        )
        self._carrier: McpHttpCarrier[Caller] = McpHttpCarrier(
            self._server(),
            sessions=self.sessions,
            key=lambda caller: caller.endpoint_id,
            part=lambda caller: caller.credential_id,
            observer=self.bells,
            limits=CarrierLimits(
                streams_per_key=limits.streams_per_endpoint,
                calls_per_key=limits.calls_per_endpoint,
            ),
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

    async def cut_ended(self) -> None:
        """Cut what belongs to credentials that are over and of which no signal told."""
        callers = (*self.bells.callers(), *self._waiting.callers())
        holding = {one.credential_id: one for one in callers}
        ended = await self._store.ended_credentials(holding) if holding else ()
        for credential_id in ended:
            endpoint_id = holding[credential_id].endpoint_id
            self._carrier.end_part(endpoint_id, credential_id, EndReason.REVOKED)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = find_origin(scope["headers"])
        if origin is not None and self._admission.is_preflight(scope, origin):
            await send_empty(send, 204, (*SECURITY_HEADERS, *preflight_headers(origin)))
            return
        decision = await self._admission.decide(scope, origin)
        headers = SECURITY_HEADERS
        if origin is not None and origin in self._limits.origin.accepted:
            headers = (*SECURITY_HEADERS, *cross_origin_headers(origin))
        if isinstance(decision, Refusal):
            why = {"status": decision.status, "reason": decision.reason.value}
            _log.debug("request_refused", extra=why)
            await send_refusal(send, decision, headers)
            return
        request = request_at_hand()
        if request is not None:
            request.slug = decision.slug
        await self._carrier.serve(scope, receive, send, caller=decision, headers=headers)

    def _listening_sessions(self, endpoint_id: EndpointId | None) -> tuple[str, ...]:
        return self.bells.session_ids(endpoint_id)

    def _refuses_modern(self, caller: Caller, client: str | None) -> bool:
        names = self._limits.channel_clients
        return caller.protocol is Protocol.LEGACY or (client or "").startswith(names)

    def _end(self, signal: Signal) -> None:
        if isinstance(signal, EndpointEnded):
            self._carrier.end(signal.endpoint_id, _ENDS[signal.why])
        elif isinstance(signal, CredentialEnded):
            why = _ENDS[signal.why]
            self._carrier.end_part(signal.endpoint_id, signal.credential_id, why)

    def _server(self) -> Server[Any]:
        async def list_tools(ctx: Any, params: Any) -> Any:
            granted: tuple[Verb, ...] = ctx.request.caller.verbs
            return {"tools": tools(granted), "resultType": "complete"}

        async def call(name: str, arguments: dict[str, Any], request: Call[Caller]) -> Answer:
            verb = _VERBS.get(name)
            if verb is None:
                raise MCPError(types.INVALID_PARAMS, "Unknown tool")
            return await self._tools.call(verb, arguments, request)

        async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
            return spelled_out(await call(params.name, params.arguments or {}, ctx.request))

        async def listen(ctx: Any, params: Any) -> Any:
            return await self._listening.serve(ctx, params)

        async def announce(ctx: Any, call_next: Any) -> Any:
            plain = plain_call(ctx.method, ctx.params)
            if plain is not None:
                answer = await call(*plain, ctx.request)
                if ctx.request.modern:
                    return in_modern_era(answer, server_info)
                return in_session_era(answer)
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
        server_info = server.server_info_stamp
        server.middleware[:] = [announce]
        return server
