"""Moments inside the running surface that a test waits for or brings about."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from tests.switchboard.mcp.serving import Surface, until


async def until_waiting(surface: Surface, waiters: int = 1) -> None:
    """Return when so many claims wait."""
    await until(lambda: len(surface.waiting) == waiters)


def reached(surface: Surface, method: str) -> asyncio.Event:
    """Set once a method of the store is entered, which then does what it always does."""
    entered, real = asyncio.Event(), getattr(surface.store, method)

    async def enter(*arguments: Any) -> Any:
        entered.set()
        return await real(*arguments)

    setattr(surface.store, method, enter)
    return entered


@contextmanager
def writing_is_blocked(surface: Surface) -> Generator[None]:
    """Another process holds the database's write lock."""
    foreign = sqlite3.connect(surface.path, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        foreign.close()


async def until_taken(surface: Surface) -> None:
    """Return when the writer has taken up everything that was submitted."""
    writer = surface.store._writer  # pyright: ignore[reportPrivateUsage]
    await until(lambda: writer.waiting == 0)


def batches(surface: Surface) -> int:
    """How many batches the writer has ended."""
    return surface.store._writer.batches  # pyright: ignore[reportPrivateUsage]


async def until_queued(surface: Surface, changes: int) -> None:
    """Return when so many changes wait for the writer, which is busy."""
    writer = surface.store._writer  # pyright: ignore[reportPrivateUsage]
    await until(lambda: writer.waiting == changes)


async def cut_off(surface: Surface, raw: bytes, method: str) -> None:
    """Send a call and cut its socket while its change is with the writer, which then goes on.

    `method` is the one of the store that the call asks.
    """
    others = surface.listener.connections
    asked = reached(surface, method)
    with writing_is_blocked(surface):
        _, writer = await asyncio.open_connection("127.0.0.1", surface.port)
        writer.write(raw)
        await asked.wait()
        await until_taken(surface)
        writer.transport.abort()
        await until(lambda: surface.listener.connections == others)
