"""What belongs to one thread says so when another one touches it."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3

import pytest

from tests.specification import requirement
from tests.switchboard.mcp.serving import Surface

pytestmark = pytest.mark.concurrency


@requirement("SPEC-0014/concurrency/race-detection")
async def test_the_writer_refuses_to_write_on_a_thread_that_is_not_its_own(
    surface: Surface,
) -> None:
    writer = surface.store._writer  # pyright: ignore[reportPrivateUsage]
    with (
        contextlib.closing(sqlite3.connect(":memory:")) as connection,
        pytest.raises(AssertionError, match="only the writer thread writes"),
    ):
        writer._serve_batch(connection)  # pyright: ignore[reportPrivateUsage]
    assert await surface.add(), "and goes on"


@requirement("SPEC-0014/concurrency/race-detection")
async def test_the_loop_refuses_a_callback_of_another_thread() -> None:
    loop = asyncio.get_running_loop()
    with pytest.raises(RuntimeError, match="Non-thread-safe"):
        await asyncio.to_thread(loop.call_soon, print)
