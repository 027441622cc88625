"""Reads beside the writer, and the log that is folded in beside both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from switchboard.errors import StoreError, StoreUnavailable
from switchboard.stores.sqlite import readers as readers_module
from switchboard.stores.sqlite.connection import CHECKPOINT_BYTES, Transaction
from switchboard.stores.sqlite.inbox import MAX_BATCH
from switchboard.stores.sqlite.readers import Readers
from switchboard.stores.sqlite.writer import Writer
from tests.clocks import FakeClock

BOUND_S = 20.0


@pytest.fixture
async def writer(tmp_path: Path) -> AsyncIterator[Writer]:
    one = Writer(tmp_path / "switchboard.db", FakeClock())
    await one.start()
    yield one
    await one.stop()


@pytest.fixture
async def readers(writer: Writer, tmp_path: Path) -> AsyncIterator[Readers]:
    some = Readers(tmp_path / "switchboard.db", FakeClock())
    some.start()
    yield some
    some.stop()


def add(name: str) -> Callable[[Transaction], int]:
    """A change: one more workspace."""

    def work(tx: Transaction) -> int:
        return tx.run("insert_workspace", id=name, name=name)

    return work


def count(tx: Transaction) -> int:
    return tx.all("ping")[0]["workspaces"]


async def test_more_reads_and_writes_than_one_batch_are_all_answered(
    writer: Writer, readers: Readers
) -> None:
    many = 2 * MAX_BATCH + 10
    async with asyncio.timeout(BOUND_S):
        await asyncio.gather(*(writer.submit(add(f"ws_{n}")) for n in range(many)))
        assert await asyncio.gather(*(readers.read(count) for _ in range(many))) == [many] * many


async def test_all_that_was_submitted_before_a_stop_is_answered_whatever_its_number(
    writer: Writer, readers: Readers
) -> None:
    many = 2 * MAX_BATCH + 10
    writes = [asyncio.ensure_future(writer.submit(add(f"ws_{n}"))) for n in range(many)]
    await asyncio.sleep(0)
    async with asyncio.timeout(BOUND_S):
        await writer.stop()
        await asyncio.gather(*writes)
        assert await readers.read(count) == many


async def test_a_read_that_fails_takes_no_other_one_with_it(readers: Readers) -> None:
    def wrong(tx: Transaction) -> None:
        raise ValueError("no")

    reads = (readers.read(count), readers.read(wrong), readers.read(lambda tx: tx.one("session")))
    first, second, third = await asyncio.gather(*reads, return_exceptions=True)
    assert first == 0
    assert isinstance(second, ValueError)
    assert isinstance(third, StoreError)


async def test_after_a_stop_nothing_is_read(readers: Readers) -> None:
    readers.stop()
    readers.stop()
    with pytest.raises(StoreUnavailable):
        await readers.read(count)


async def test_a_long_log_is_folded_in_and_begun_again_at_its_start(
    writer: Writer, readers: Readers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "switchboard.db-wal"
    for number in range(40):
        await writer.submit(add(f"first_{number}"))
    length = log.stat().st_size
    readers.checkpoint_if_long()
    assert length < CHECKPOINT_BYTES
    assert readers._folding is None, "a short log is left alone"  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(readers_module, "CHECKPOINT_BYTES", 1)
    readers.checkpoint_if_long()
    folding = readers._folding  # pyright: ignore[reportPrivateUsage]
    assert folding is not None
    await asyncio.to_thread(folding.join, BOUND_S)
    for number in range(20):
        await writer.submit(add(f"second_{number}"))
    assert log.stat().st_size == length
    assert await readers.read(count) == 60
