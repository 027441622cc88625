"""Agents that do everything at once, and a book of what they were told."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from switchboard.domain.todo import State
from switchboard.records import TodoFilter
from tests.agent_transport.mcp.wire_client import Answer
from tests.switchboard.mcp.agent import Agent
from tests.switchboard.mcp.serving import Surface, until


def chance(salt: int) -> random.Random:
    """A source of choices that belongs to this run's seed."""
    seed: int = getattr(asyncio.get_running_loop(), "seed", 0)
    return random.Random(seed * 1_000 + salt)


@dataclass
class Book:
    """What agents heard of their calls: the ledger must agree with it in the end."""

    granted: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    completed: Counter[str] = field(default_factory=Counter[str])

    def assert_no_double_work(self) -> None:
        assert not [lease for lease, times in self.granted.items() if times > 1]
        assert not [todo_id for todo_id, times in self.completed.items() if times > 1]


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
        lease = outcome(await agent.call("claim", lease_seconds=10))
        if lease is None:
            return
        if lease["empty"]:
            await asyncio.sleep(0)
            continue
        book.granted[lease["id"], lease["attempt"]] += 1
        await use(agent, book, lease, dice)


async def use(agent: Agent, book: Book, lease: dict[str, Any], dice: random.Random) -> None:
    """One of the things that agents do with a lease."""
    held = {"id": lease["id"], "lease_token": lease["lease_token"]}
    match dice.choice(("complete", "complete", "fail", "release", "forget", "twice")):
        case "complete":
            if outcome(await agent.call("complete", **held)):
                book.completed[lease["id"]] += 1
        case "twice":  # a repetition at the same time is the same success, counted once
            both = await asyncio.gather(*(agent.call("complete", **held) for _ in range(2)))
            book.completed[lease["id"]] += any(outcome(one) is not None for one in both)
        case "fail":
            await agent.call("fail", **held)
        case "release":
            await agent.call("release", **held)
        case _:
            await agent.call("heartbeat", lease_seconds=10, **held)


async def cut_claims(surface: Surface, agent: Agent, times: int) -> None:
    """Claims whose sockets are cut at once: their answers reach nobody."""
    for _ in range(times):
        _, writer = await asyncio.open_connection("127.0.0.1", surface.port)
        writer.write(agent.bytes_of_call("claim", lease_seconds=10))
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        writer.transport.abort()
        await asyncio.sleep(0)


async def cancel_claims(agent: Agent, times: int) -> None:
    """Claims that their client takes back at once: what they answer is not made use of."""
    for _ in range(times):
        call = asyncio.create_task(agent.call("claim", lease_seconds=10))
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
