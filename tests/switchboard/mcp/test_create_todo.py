"""Work that agents add: trust by inheritance, keys, due times."""

from __future__ import annotations

import asyncio

from switchboard.domain.endpoint import Verb
from switchboard.domain.todo import Trust
from tests.switchboard.mcp.serving import Surface

EVERY = tuple(Verb)


async def test_work_below_a_held_todo_inherits_its_person_and_rings(surface: Surface) -> None:
    parent = await surface.add()
    agent, peer = await surface.agent(verbs=EVERY), await surface.agent()
    await agent.done("claim", id=parent)
    async with peer.stream() as stream:
        created = await agent.done(
            "create_todo", queue="reviews", title="a part of it", parent_id=parent, priority="-7"
        )
        assert (created["created"], created["priority"], created["claimable"]) == (True, -7, True)
        rung = await stream.next_message()
    assert rung["params"]["meta"]["todo_id"] == created["id"]
    child = await surface.todo(created["id"])
    assert (child.trust, child.parent_id) == (Trust.AGENT, parent)
    assert child.person_id == surface.ledger.founding.person_id


async def test_work_on_its_own_or_below_unverified_work_never_rings(surface: Surface) -> None:
    weak = await surface.add(trust=Trust.TOKEN)
    agent, peer = await surface.agent(verbs=EVERY), await surface.agent()
    await agent.done("claim", id=weak)
    async with peer.stream() as stream:
        alone = await agent.done("create_todo", queue="reviews", title="on its own")
        below = await agent.done("create_todo", queue="reviews", title="b", parent_id=weak)
        marker = await surface.add("the marker")
        assert (await stream.next_message())["params"]["meta"]["todo_id"] == marker
    for one in (alone, below):
        assert (await surface.todo(one["id"])).person_id is None
        assert (await peer.done("claim", id=one["id"]))["id"] == one["id"]


async def test_nobody_adds_below_a_todo_that_he_does_not_hold(surface: Surface) -> None:
    parent = await surface.add()
    agent, holder = await surface.agent(verbs=EVERY), await surface.agent(verbs=EVERY)
    asked = {"queue": "reviews", "title": "x", "parent_id": parent}
    assert (await agent.refused("create_todo", **asked))["reason"] == "lease_lost"
    await holder.done("claim", id=parent, lease_seconds=10)
    assert (await agent.refused("create_todo", **asked))["reason"] == "lease_lost"
    surface.clock.advance(11_000)
    assert (await holder.refused("create_todo", **asked))["reason"] == "lease_lost"
    assert len((await agent.done("list_todos"))["todos"]) == 1


async def test_a_key_makes_a_creation_repeatable_and_is_the_agents_own(surface: Surface) -> None:
    agent = await surface.agent(verbs=EVERY)
    of_a_person = await surface.add(idempotency_key="nightly")
    asked = {"queue": "reviews", "title": "x", "idempotency_key": "nightly"}
    first = await agent.done("create_todo", **asked)
    second = await agent.done("create_todo", **asked)
    assert (first["created"], second["created"]) == (True, False)
    assert first["id"] == second["id"] != of_a_person


async def test_a_due_time_is_kept_and_wants_an_offset(surface: Surface) -> None:
    agent = await surface.agent(verbs=EVERY)
    asked = {"queue": "reviews", "title": "x"}
    later = await agent.done("create_todo", available_at="2026-03-01T00:00:00+02:00", **asked)
    assert (later["available_at"], later["claimable"]) == ("2026-02-28T22:00:00.000Z", False)
    for wrong in ("2026-03-01T00:00:00", "tomorrow", "", 7):
        refused = await agent.refused("create_todo", available_at=wrong, **asked)
        assert refused["code"] == "invalid_argument"


async def test_one_key_asked_for_at_once_makes_one_todo(surface: Surface) -> None:
    pair = [await surface.agent(verbs=EVERY) for _ in range(2)]
    asked = {"queue": "reviews", "title": "x", "idempotency_key": "nightly"}
    made = await asyncio.gather(
        *(agent.done("create_todo", **asked) for agent in pair for _ in range(15))
    )
    assert [one["created"] for one in made].count(True) == 1
    assert len({one["id"] for one in made}) == 1
    assert len((await pair[0].done("list_todos"))["todos"]) == 1
