"""The composition root: the only place that knows every part, and the order of start and end."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from agent_transport.admission import Rate
from agent_transport.listen_address import ListenAddress
from switchboard import __version__
from switchboard.api.app import build_api
from switchboard.api.gate import ApiGate, GateRules
from switchboard.api.reach import ApiServices
from switchboard.clock import SystemClock
from switchboard.data_directory import DataDirectory
from switchboard.first_start import ensure_local_operator
from switchboard.front import Front
from switchboard.health import Health
from switchboard.mcp.app import AgentSurface, SurfaceLimits
from switchboard.notifiers.memory import MemoryNotifier
from switchboard.public_address import allowed_origins, host_rule, local_url
from switchboard.service.endpoints import EndpointDesk
from switchboard.service.last_seen import LastSeen
from switchboard.service.leases import Leases
from switchboard.service.queues import QueueDesk
from switchboard.service.todos import Todos
from switchboard.service.upkeep import Upkeep
from switchboard.service.waiting import WaitingRoom
from switchboard.settings import Settings
from switchboard.stores.sqlite import SqliteStore


class Service:
    """One running service: an ASGI application with the parts behind it.

    Enter it before the first request and leave it after the last. `on_fatal` is called when the
    ledger's writer has ended and only a new process can help.
    """

    def __init__(
        self,
        settings: Settings,
        directory: DataDirectory,
        address: ListenAddress,
        on_fatal: Callable[[], None],
    ) -> None:
        self.local_url = local_url(address)
        self.url = settings.public_url or self.local_url
        self._settings = settings
        self._directory = directory
        self._on_fatal = on_fatal
        self._parts = AsyncExitStack()
        self._clock = SystemClock()
        self._notifier = MemoryNotifier()
        self._store = SqliteStore(directory.database_path, clock=self._clock, on_fatal=self._fail)
        self._rules = _rules(settings, address)
        self._agents = self._build_agents()
        self._upkeep = self._build_upkeep()
        self.health = Health(self._store.ping)
        self.application = Front(
            agents=self._agents,
            api=self._build_api(self._agents.last_seen),
            alive=self.health.alive,
            ready=self.health.ready,
        )

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as started:
            started.push_async_callback(self._store.stop)
            await self._store.start()
            await ensure_local_operator(
                self._store, self._directory, self._clock, secrets.token_bytes
            )
            started.push_async_callback(self._upkeep.stop)
            started.push_async_callback(self._agents.stop)
            await self._agents.start()
            await self._upkeep.start()
            self._parts = started.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._parts.aclose()

    async def drain(self) -> None:
        """Stop being ready, and end the streams and waiting claims. The rest may finish."""
        self.health.is_draining = True
        self._agents.drain()

    def _fail(self) -> None:
        self.health.has_failed = True
        self._on_fatal()

    def _build_agents(self) -> AgentSurface:
        waiting = WaitingRoom()
        leases = Leases(self._store, self._notifier, waiting, self._clock, secrets.token_bytes)
        settings, rules = self._settings, self._rules
        limits = SurfaceLimits(
            host=rules.host,
            origin=rules.origin,
            trusted_proxies=rules.trusted_proxies,
            endpoint_rate=Rate(settings.rate_endpoint_per_second, settings.rate_endpoint_burst),
            address_rate=rules.address_rate,
            max_json_bytes=settings.max_json_bytes,
            sessions_per_endpoint=settings.sessions_per_endpoint,
            streams_per_endpoint=settings.streams_per_endpoint,
            calls_per_endpoint=settings.calls_per_endpoint,
            channel_clients=settings.channel_clients,
            version=__version__,
        )
        return AgentSurface(
            self._store, leases, waiting, self._notifier, limits, self._clock, random.random
        )

    def _build_upkeep(self) -> Upkeep:
        flushes = (self._agents.last_seen.flush, self._agents.sessions.flush)
        looks = (self._agents.cut_ended,)
        return Upkeep(self._store, self._notifier, self._clock, flushes=flushes, looks=looks)

    def _build_api(self, last_seen: LastSeen) -> ApiGate:
        store, notifier, clock = self._store, self._notifier, self._clock
        max_json_bytes = self._settings.max_json_bytes
        services = ApiServices(
            todos=Todos(store, notifier, clock, secrets.token_bytes, max_json_bytes=max_json_bytes),
            desk=EndpointDesk(store, notifier, clock, secrets.token_bytes),
            queues=QueueDesk(store, notifier),
            people=store,
            last_seen=last_seen,
            url_of=self._endpoint_url,
        )
        return ApiGate(build_api(services), store.operator_by_token, self._rules, random.random)

    def _endpoint_url(self, slug: str) -> str:
        return f"{self.url}/mcp/{slug}"


def _rules(settings: Settings, address: ListenAddress) -> GateRules:
    """What both surfaces ask of a caller before its credential is looked at."""
    return GateRules(
        host=host_rule(settings, address),
        origin=allowed_origins(settings, address),
        trusted_proxies=settings.trusted_proxies,
        address_rate=Rate(settings.rate_address_per_second, settings.rate_address_burst),
    )
