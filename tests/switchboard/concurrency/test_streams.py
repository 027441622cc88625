"""Streams that open, close, are replaced and revoked while doorbells ring; what is left of them."""

from __future__ import annotations

import asyncio
import threading
from contextlib import AbstractAsyncContextManager

import pytest

from tests.specification import requirement
from tests.switchboard.concurrency.crowd import chance
from tests.switchboard.mcp.agent import Agent, Stream
from tests.switchboard.mcp.hearing import rings
from tests.switchboard.mcp.serving import Surface, until
from tests.switchboard.mcp.test_listening import BELL, acknowledged, listening

pytestmark = pytest.mark.concurrency


def open_streams(surface: Surface) -> int:
    return len(surface.app.bells.session_ids())


async def come_and_go(surface: Surface, agent: Agent, salt: int) -> None:
    """Open streams and leave them in each of the ways that a client has."""
    dice = chance(salt)
    for _ in range(6):
        match dice.choice(("close", "abort", "replace", "delete")):
            case "close":
                async with agent.stream():
                    await asyncio.sleep(0)
            case "abort":
                async with agent.stream() as stream:
                    stream.writer.transport.abort()
            case "replace":
                async with agent.stream() as first, agent.stream():
                    await first.until_end()
            case _:
                async with agent.stream() as stream:
                    assert (await agent.verb("DELETE")).status == 204
                    await stream.until_end()
                await agent.initialize()


async def listen_and_go(agent: Agent) -> None:
    for _ in range(6):
        async with listening(agent, BELL) as stream:
            await acknowledged(stream)


async def add_some(surface: Surface, added: list[str]) -> None:
    for number in range(8):
        surface.clock.advance(10_000)
        added.append(await surface.add(f"number {number}"))
        await asyncio.sleep(0)


@requirement(
    "SPEC-0014/concurrency/race-detection",
    "SPEC-0014/concurrency/shared-state-safe",
    "SPEC-0014/concurrency/nothing-leaks",
)
async def test_whoever_comes_and_goes_the_one_that_stays_hears_everything_once(
    surface: Surface,
) -> None:
    stays = await surface.agent()
    guests = [await surface.agent() for _ in range(4)]
    modern, doomed = await surface.vend(), await surface.agent()
    added: list[str] = []
    async with stays.stream() as stream, asyncio.timeout(60):
        tasks, threads = len(asyncio.all_tasks()), set(threading.enumerate())
        async with doomed.stream() as cut, asyncio.TaskGroup() as everybody:
            for salt, guest in enumerate(guests):
                everybody.create_task(come_and_go(surface, guest, salt))
            everybody.create_task(listen_and_go(modern))
            everybody.create_task(add_some(surface, added))
            everybody.create_task(surface.revoke(doomed))
        await cut.until_end()
        await until(lambda: open_streams(surface) == 1)
        assert sorted(await rings(surface, stream)) == sorted(added)
        await until(lambda: len(asyncio.all_tasks()) <= tasks)
        assert set(threading.enumerate()) <= threads
    await until(lambda: open_streams(surface) == 0)


@requirement("SPEC-0014/concurrency/race-detection", "SPEC-0014/concurrency/nothing-leaks")
async def test_a_stream_leaves_no_task_behind_however_it_ends(surface: Surface) -> None:
    idle = await surface.agent()
    await idle.post("ping")
    await until(lambda: surface.listener.connections == 0)
    tasks, threads = len(asyncio.all_tasks()), set(threading.enumerate())
    for end in ("close", "abort", "replace", "delete", "revoke", "drain"):
        agent = await surface.agent()
        async with agent.stream() as stream:
            assert len(asyncio.all_tasks()) > tasks
            await end_by(end, surface, agent, stream)
        await until(lambda: surface.listener.connections == 0)
        await until(lambda: len(asyncio.all_tasks()) <= tasks)
        assert open_streams(surface) == 0
    assert set(threading.enumerate()) <= threads


async def end_by(end: str, surface: Surface, agent: Agent, stream: Stream) -> None:
    match end:
        case "close":
            stream.close()
        case "abort":
            stream.writer.transport.abort()
        case "replace":
            async with agent.stream():
                await stream.until_end()
        case "delete":
            await agent.verb("DELETE")
            await stream.until_end()
        case "revoke":
            await surface.revoke(agent)
            await stream.until_end()
        case _:
            surface.app.drain()
            await stream.until_end()


@requirement(
    "SPEC-0014/concurrency/race-detection", "SPEC-0014/concurrency/revocation-closes-streams"
)
async def test_a_stream_that_opens_while_its_endpoint_is_revoked_ends_or_never_begins(
    surface: Surface,
) -> None:
    for _ in range(5):
        agent = await surface.agent()

        async def hold_open(opening: AbstractAsyncContextManager[Stream]) -> None:
            try:
                async with opening as stream:
                    await stream.until_end()
            except (AssertionError, ConnectionError, asyncio.IncompleteReadError):
                return  # refused, which is as good

        # As in a process that has just begun: admission and session are read from the ledger.
        surface.store._forget_endpoints()  # pyright: ignore[reportPrivateUsage]
        async with asyncio.timeout(20):
            streams = hold_open(agent.stream()), hold_open(listening(agent, BELL))
            await asyncio.gather(*streams, surface.revoke(agent))
        assert (await agent.verb("GET")).status == 401
    await until(lambda: open_streams(surface) == 0)


@requirement(
    "SPEC-0014/concurrency/race-detection", "SPEC-0014/concurrency/stream-ends-on-shutdown"
)
async def test_a_drain_in_the_middle_of_everything_ends_everything(surface: Surface) -> None:
    agents = [await surface.agent() for _ in range(4)]
    waiter = await surface.agent("deploys")
    ended: list[bytes] = []

    async def hold_open(agent: Agent) -> None:
        async with agent.stream() as stream:
            ended.append(await stream.until_end())

    async with asyncio.timeout(30), asyncio.TaskGroup() as everybody:
        for agent in agents:
            everybody.create_task(hold_open(agent))
        waiting = everybody.create_task(waiter.done("claim", wait_seconds=25))
        await until(lambda: open_streams(surface) == 4 and len(surface.waiting) == 1)
        added = everybody.create_task(surface.add_alike(5))
        await asyncio.sleep(0)
        surface.app.drain()
        await added
    assert len(ended) == 4
    assert waiting.result()["empty"] is True
    assert open_streams(surface) == len(surface.waiting) == 0
