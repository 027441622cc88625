"""Agents that do everything at once, and a book of what they were told."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from switchboard.domain.todo import State
from switchboard.records import TodoFilter
from tests.agent_transport.mcp.wire_client import Answer
from tests.switchboard.mcp.agent import Agent
from tests.switchboard.mcp.serving import Surface, until

LEASE_S = 10


def chance(salt: int) -> random.Random:
    """A source of choices that belongs to this run's seed."""
    seed: int = getattr(asyncio.get_running_loop(), "seed", 0)
    return random.Random(seed * 1_000 + salt)


@dataclass
class Held:
    """A lease as its holder was told of it, and whether the holder then gave it up."""

    todo_id: str
    attempt: int
    expires_at_ms: int
    slug: str
    ended: bool = False

    @property
    def claimed_at_ms(self) -> int:
        return self.expires_at_ms - LEASE_S * 1_000


@dataclass
class Book:
    """What agents heard of their calls: the ledger must agree with it in the end."""

    leases: list[Held] = field(default_factory=list[Held])
    completed: Counter[str] = field(default_factory=Counter[str])

    def grant(self, lease: dict[str, Any], slug: str) -> Held:
        expires = datetime.fromisoformat(lease["lease_expires_at"])
        at_ms = round(expires.timestamp() * 1_000)
        self.leases.append(Held(lease["id"], lease["attempt"], at_ms, slug))
        return self.leases[-1]

    def assert_no_double_work(self, revoked: str) -> None:
        """Nobody got a todo while another's lease ran, and nothing was done twice."""
        assert not [todo_id for todo_id, times in self.completed.items() if times > 1]
        in_turn = sorted(self.leases, key=lambda held: (held.todo_id, held.attempt))
        for earlier, later in pairwise(in_turn):
            if earlier.todo_id == later.todo_id:
                assert earlier.attempt < later.attempt, (earlier, later)
                over = earlier.ended or earlier.slug == revoked
                assert over or earlier.expires_at_ms <= later.claimed_at_ms, (earlier, later)


def outcome(answer: Answer) -> dict[str, Any] | None:
    """A call's structured result; None for a tool error or a revoked caller."""
    if answer.status == 401:
        return None
    assert answer.status == 200, (answer.status, answer.body)
    result = answer.json.get("result")
    return None if result is None or result.get("isError") else result["structuredContent"]


async def work_until_done(surface: Surface, agent: Agent, book: Book, salt: int) -> None:
    """Claim, and by chance complete, fail, release or forget, until no todo is live."""
    dice = chance(salt)
    while await live(surface):
        lease = outcome(await agent.call("claim", lease_seconds=LEASE_S))
        if lease is None:
            return
        if lease["empty"]:
            await asyncio.sleep(0)
            continue
        granted = book.grant(lease, agent.slug)
        granted.ended = await use(agent, book, lease, dice)


async def use(agent: Agent, book: Book, lease: dict[str, Any], dice: random.Random) -> bool:
    """One of the things that agents do with a lease; whether it is given up by that."""
    held = {"id": lease["id"], "lease_token": lease["lease_token"]}
    match dice.choice(("complete", "complete", "fail", "release", "forget", "twice")):
        case "twice":  # a repetition at the same time is the same success, counted once
            both = await asyncio.gather(*(agent.call("complete", **held) for _ in range(2)))
            done = any(outcome(one) is not None for one in both)
            book.completed[lease["id"]] += done
            return done
        case "forget":
            await agent.call("heartbeat", lease_seconds=LEASE_S, **held)
            return False
        case verb:
            done = outcome(await agent.call(verb, **held)) is not None
            book.completed[lease["id"]] += done and verb == "complete"
            return done


async def cut_claims(surface: Surface, agent: Agent, times: int) -> None:
    """Claims whose sockets are cut at once: their answers reach nobody."""
    for _ in range(times):
        _, writer = await asyncio.open_connection("127.0.0.1", surface.port)
        writer.write(agent.bytes_of_call("claim", lease_seconds=LEASE_S))
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        writer.transport.abort()
        await asyncio.sleep(0)


async def cancel_claims(agent: Agent, times: int) -> None:
    """Claims that their client takes back at once: what they answer is not made use of."""
    for _ in range(times):
        call = asyncio.create_task(agent.call("claim", lease_seconds=LEASE_S))
        await asyncio.sleep(0)  # its bytes have an id now
        cancelled, answer = await asyncio.gather(agent.cancel(agent.last_id), call)
        assert (cancelled.status, answer.status) == (202, 200)


async def revoke_in_the_middle(surface: Surface, agent: Agent, book: Book) -> None:
    """Revoke an endpoint once a few todos are done, whatever it holds by then."""
    await until(lambda: sum(book.completed.values()) >= 3)
    await surface.revoke(agent)
    assert (await agent.post("ping")).status == 401


async def keep_time(surface: Surface, done: asyncio.Event) -> None:
    """Time goes by, and the service looks after what it brings, until `done`."""
    while not done.is_set():
        surface.clock.advance(3_000)
        await surface.upkeep.sweep()
        await surface.upkeep.ring_due()
        await surface.app.bells.ring_again()
        await surface.upkeep.flush()


async def live(surface: Surface) -> list[str]:
    """The todos that are not over."""
    rows = await surface.store.list_todos(surface.ledger.workspace_id, TodoFilter(limit=200))
    return [row.todo.id for row in rows if row.todo.state in (State.PENDING, State.CLAIMED)]
