"""Credentials that rotate under everything that they opened, or were just about to open."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from switchboard.domain.todo import Outcome, State
from tests.specification import requirement
from tests.switchboard.concurrency.crowd import chance
from tests.switchboard.mcp.agent import Agent, Stream
from tests.switchboard.mcp.serving import Surface, until
from tests.switchboard.mcp.test_listening import BELL, listening
from tests.switchboard.mcp.test_rotation import rotated

WORKERS = 4
TODOS = 12
ROTATIONS = 3

pytestmark = pytest.mark.concurrency


async def hold_open(opening: AbstractAsyncContextManager[Stream]) -> None:
    """A stream until the server ends it. That it is refused instead is as good."""
    try:
        async with opening as stream:
            await stream.until_end()
    except (AssertionError, ConnectionError, asyncio.IncompleteReadError):
        return


@requirement("SPEC-0014/concurrency/race-detection", "SPEC-0014/concurrency/nothing-leaks")
async def test_what_a_rotated_credential_was_opening_ends_or_never_begins(
    surface: Surface,
) -> None:
    for _ in range(5):
        old = await surface.agent()
        async with asyncio.timeout(20):
            claim, new, *_ = await asyncio.gather(
                old.call("claim", wait_seconds=25),
                rotated(surface, old),
                hold_open(old.stream()),
                hold_open(listening(old, BELL)),
            )
        assert (claim.status, claim.body) == (401, b"")
        assert (await old.verb("GET")).status == 401
        assert (await new.post("ping")).status == 200
    await until(lambda: not surface.app.bells.session_ids())
    assert len(surface.waiting) == 0


class Worker:
    """Drains the queue; told 401, it goes on with the credential that it was given meanwhile."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    async def take_key(self, surface: Surface) -> None:
        self.agent.credential = (await rotated(surface, self.agent)).credential

    async def call(self, tool: str, **arguments: object) -> dict[str, object]:
        while True:
            answer = await self.agent.call(tool, **arguments)
            if answer.status != 401:
                result = answer.json["result"]
                assert "isError" not in result, result
                return result["structuredContent"]

    async def work(self, done: list[object]) -> None:
        while len(done) < TODOS:
            lease = await self.call("claim")
            if lease["empty"]:
                await asyncio.sleep(0)
                continue
            await self.call("complete", id=lease["id"], lease_token=lease["lease_token"])
            done.append(lease["id"])


@requirement("SPEC-0014/concurrency/race-detection", "SPEC-0014/concurrency/shared-state-safe")
async def test_agents_whose_keys_change_under_their_calls_lose_and_repeat_no_work(
    surface: Surface,
) -> None:
    """No time passes here: a claim that was told to nobody and kept would never be done."""
    workers = [Worker(await surface.agent()) for _ in range(WORKERS)]
    added = await surface.add_alike(TODOS)
    done: list[object] = []

    async def change_keys(salt: int, worker: Worker) -> None:
        for _ in range(ROTATIONS):
            for _ in range(chance(salt).randrange(20)):
                await asyncio.sleep(0)
            await worker.take_key(surface)

    async with asyncio.timeout(60), asyncio.TaskGroup() as everybody:
        for salt, worker in enumerate(workers):
            everybody.create_task(worker.work(done))
            everybody.create_task(change_keys(salt, worker))
    assert sorted(map(str, done)) == sorted(added)
    for todo_id in added:
        history = await surface.store.todo(surface.ledger.workspace_id, todo_id)
        assert history is not None
        assert (history.todo.state, history.todo.lapses) == (State.DONE, 0)
        assert [one.outcome for one in history.attempts] == [Outcome.DONE]
