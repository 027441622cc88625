"""The agents' surface on a real ledger and real sockets, with a clock that the test moves."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import secrets
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_transport.admission import (
    OriginRule,
    Rate,
    TrustedProxies,
    listener_host,
    send_empty,
)
from agent_transport.admission.asgi import Receive, Scope, Send
from agent_transport.listen_address import bind
from agent_transport.listener import Listener
from switchboard.domain.endpoint import CORE_VERBS, Endpoint, Protocol, Verb
from switchboard.domain.queue import Queue, RingPolicy
from switchboard.domain.refusal import Refusal
from switchboard.domain.todo import Todo, TodoId, Trust
from switchboard.front import Front
from switchboard.mcp.app import AgentSurface, SurfaceLimits
from switchboard.notifiers.memory import MemoryNotifier
from switchboard.records import Created
from switchboard.service.draft import Origin, TodoDraft
from switchboard.service.endpoints import EndpointDesk, EndpointDraft, Vended
from switchboard.service.leases import Leases
from switchboard.service.queues import QueueDesk
from switchboard.service.todos import Todos
from switchboard.service.upkeep import Upkeep
from switchboard.service.waiting import WaitingRoom
from switchboard.stores.sqlite import SqliteStore
from tests.builders import QUEUE, Ledger, found
from tests.clocks import FakeClock
from tests.switchboard.mcp.agent import Agent

PLENTY = Rate(10_000, 10_000)
"""So many requests as no test sends: the limits are tests of their own."""


@dataclass
class Surface:
    """What a test may use of the running surface."""

    ledger: Ledger
    store: SqliteStore
    path: Path
    clock: FakeClock
    app: AgentSurface
    listener: Listener
    notifier: MemoryNotifier
    waiting: WaitingRoom
    todos: Todos
    desk: EndpointDesk
    queues: QueueDesk
    upkeep: Upkeep

    @property
    def port(self) -> int:
        return self.listener.address.port

    async def vend(
        self,
        *queues: str,
        agent: str = "scout",
        verbs: tuple[Verb, ...] = CORE_VERBS,
        protocol: Protocol = Protocol.AUTO,
        lifetime_ms: int | None = None,
    ) -> Agent:
        """A client of a new endpoint, before its handshake."""
        draft = EndpointDraft(
            agent, queues or (QUEUE,), verbs=verbs, protocol=protocol, lifetime_ms=lifetime_ms
        )
        vended = await self.desk.vend(self.ledger.workspace_id, draft, self.ledger.owner)
        assert isinstance(vended, Vended), vended
        return Agent(self.port, vended.endpoint.slug, vended.credential)

    async def agent(self, *queues: str, **vend: Any) -> Agent:
        """A client of a new endpoint, in a session."""
        agent = await self.vend(*queues, **vend)
        await agent.initialize()
        return agent

    async def endpoint(self, agent: Agent) -> Endpoint:
        """The endpoint behind a client, as people see it."""
        endpoint = await self.desk.show(self.ledger.workspace_id, agent.slug)
        assert endpoint is not None
        return endpoint

    async def add(
        self,
        title: str = "Review the change",
        *,
        queue: str = QUEUE,
        trust: Trust = Trust.OPERATOR,
        by_person: bool = True,
        **draft: Any,
    ) -> TodoId:
        """A todo that the owner adds, told to whoever listens."""
        person = self.ledger.founding.person_id if by_person else None
        origin = Origin(self.ledger.owner, trust, person)
        created = await self.todos.create(
            self.ledger.workspace_id, TodoDraft(queue, title, **draft), origin
        )
        assert isinstance(created, Created), created
        return created.todo.id

    async def add_alike(self, count: int, **draft: Any) -> list[TodoId]:
        """So many todos, in one change."""
        drafts = [TodoDraft(QUEUE, f"number {number}", **draft) for number in range(count)]
        return await self._add_all(drafts)

    async def add_both(self, plain: str, urgent: str) -> list[TodoId]:
        """Two todos in one change, the better one last."""
        return await self._add_all([TodoDraft(QUEUE, plain), TodoDraft(QUEUE, urgent, priority=9)])

    async def _add_all(self, drafts: list[TodoDraft]) -> list[TodoId]:
        origin = Origin(self.ledger.owner, Trust.OPERATOR, self.ledger.founding.person_id)
        created = await self.todos.create_many(self.ledger.workspace_id, drafts, origin)
        assert not isinstance(created, Refusal), created
        return [one.todo.id for one in created]

    async def todo(self, todo_id: str) -> Todo:
        """A todo as the ledger has it."""
        history = await self.store.todo(self.ledger.workspace_id, TodoId(todo_id))
        assert history is not None
        return history.todo

    async def settled(self) -> None:
        """Return when all that was told to the doorbells has been rung."""
        await self.app.bells.settled()

    async def revoke(self, agent: Agent) -> None:
        """The owner revokes the endpoint of a client."""
        await self.desk.revoke(self.ledger.workspace_id, agent.slug, self.ledger.owner)

    async def pause(self, paused: bool = True, queue: str = QUEUE) -> Queue:
        """Pause or resume a queue."""
        change = self.queues.pause if paused else self.queues.resume
        changed = await change(self.ledger.workspace_id, queue, self.ledger.owner)
        assert changed is not None
        return changed

    async def pool(self, queue: str = QUEUE) -> None:
        """Make a queue one whose todos wake one endpoint at a time."""
        one, owner = RingPolicy.ONE, self.ledger.owner
        assert await self.queues.set_ring(self.ledger.workspace_id, queue, one, owner)


async def until(holds: Callable[[], bool]) -> None:
    """Return when something that sends no signal of its own has come about."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - the state of a part under test, not an event
            await asyncio.sleep(0.002)


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    await send_empty(send, 404)


@asynccontextmanager
async def serving(
    directory: Path, *, send_buffer_bytes: int | None = None, **limits: Any
) -> AsyncGenerator[Surface]:
    """Serve a new ledger in `directory`. `limits` are fields of `SurfaceLimits`.

    `send_buffer_bytes` None: the system's, which hold more than a test likes to write.
    """
    clock, notifier, waiting = FakeClock(), MemoryNotifier(), WaitingRoom()
    path = directory / "switchboard.db"
    store = SqliteStore(path, clock=clock, jitter=random.Random(14))
    await store.start()
    listening = bind("127.0.0.1", 0)
    if send_buffer_bytes is not None:  # accepted sockets inherit it
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
    port: int = listening.getsockname()[1]
    rules = SurfaceLimits(
        host=listener_host("127.0.0.1", port, local_names=True),
        origin=OriginRule(frozenset()),
        trusted_proxies=TrustedProxies(),
        endpoint_rate=PLENTY,
        address_rate=PLENTY,
    )
    leases = Leases(store, notifier, waiting, clock, secrets.token_bytes)
    app = AgentSurface(
        store,
        leases,
        waiting,
        notifier,
        dataclasses.replace(rules, **limits),
        clock,
        random.Random(14).random,
    )
    front = Front(agents=app, api=_nothing, alive=_nothing, ready=_nothing)

    async def drain() -> None:
        app.drain()

    listener = Listener(front, sockets=[listening], on_drain=[drain])
    flushes = (app.last_seen.flush, app.sessions.flush)
    try:
        ledger = await found(store, clock)
        await app.start()
        async with listener:
            yield Surface(
                ledger,
                store,
                path,
                clock,
                app,
                listener,
                notifier,
                waiting,
                Todos(store, notifier, clock, secrets.token_bytes),
                EndpointDesk(store, notifier, clock, secrets.token_bytes),
                QueueDesk(store, notifier),
                Upkeep(store, notifier, clock, flushes=flushes),
            )
    finally:
        await app.stop()
        await store.stop()
