"""What the one writer promises when the disk, a neighbour or a caller fails it."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from switchboard.errors import SchemaMismatch, StoreError, StoreUnavailable
from switchboard.stores.sqlite import SqliteStore
from switchboard.stores.sqlite import connection as connection_module
from switchboard.stores.sqlite import writer as writer_module
from switchboard.stores.sqlite.connection import APPLICATION_ID, Transaction
from switchboard.stores.sqlite.writer import Writer
from tests.clocks import FakeClock

BOUND_S = 20.0


@pytest.fixture
async def writer(tmp_path: Path) -> AsyncIterator[Writer]:
    one = Writer(tmp_path / "switchboard.db", FakeClock())
    await one.start()
    yield one
    await one.stop()


def add(name: str) -> Any:
    """A change: one more workspace."""

    def work(tx: Transaction) -> str:
        tx.run("insert_workspace", id=name, name=name)
        return name

    return work


def names(path: Path) -> set[str]:
    with sqlite3.connect(path) as reader:
        found = {row[0] for row in reader.execute("SELECT id FROM workspace")}
    reader.close()
    return found


class Gate:
    """Work that holds the writer's thread until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.let_go = threading.Event()

    def __call__(self, tx: Transaction) -> None:
        self.entered.set()
        assert self.let_go.wait(BOUND_S)


async def hold(writer: Writer) -> tuple[Gate, asyncio.Task[None]]:
    gate = Gate()
    held = asyncio.create_task(writer.submit(gate))
    assert await asyncio.to_thread(gate.entered.wait, BOUND_S)
    return gate, held


async def test_waiting_changes_share_one_commit(writer: Writer) -> None:
    gate, held = await hold(writer)
    before = writer.batches
    changes = [asyncio.create_task(writer.submit(add(f"w{n}"))) for n in range(50)]
    await asyncio.sleep(0)
    gate.let_go.set()
    await asyncio.gather(held, *changes)
    assert writer.batches - before <= 3


async def test_one_change_that_fails_leaves_its_mates_whole(writer: Writer, tmp_path: Path) -> None:
    gate, held = await hold(writer)

    def fails(tx: Transaction) -> None:
        tx.run("insert_workspace", id="half", name="half")
        raise ValueError("no")

    mates = [writer.submit(add("a")), writer.submit(fails), writer.submit(add("b"))]
    tasks = [asyncio.create_task(mate) for mate in mates]
    await asyncio.sleep(0)
    gate.let_go.set()
    await held
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert results[0] == "a"
    assert isinstance(results[1], ValueError)
    assert results[2] == "b"
    assert names(tmp_path / "switchboard.db") == {"a", "b"}


async def test_a_caller_cancelled_before_its_turn_has_changed_nothing(
    writer: Writer, tmp_path: Path
) -> None:
    gate, held = await hold(writer)
    cancelled = asyncio.create_task(writer.submit(add("gone")))
    kept = asyncio.create_task(writer.submit(add("kept")))
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.sleep(0)  # the task hears of it
    gate.let_go.set()
    await asyncio.gather(held, kept)
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert names(tmp_path / "switchboard.db") == {"kept"}


async def test_a_change_that_waits_too_long_is_refused_and_never_made(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "SUBMIT_BOUND_S", 0.05)
    gate = Gate()
    held = asyncio.create_task(writer.submit(gate))
    assert await asyncio.to_thread(gate.entered.wait, BOUND_S)
    with pytest.raises(StoreUnavailable):
        await writer.submit(add("late"))
    gate.let_go.set()
    with pytest.raises(StoreUnavailable):
        await held
    monkeypatch.undo()
    await writer.submit(add("next"))
    assert names(tmp_path / "switchboard.db") == {"next"}


async def test_a_full_disk_acknowledges_nobody_of_the_batch_and_the_next_one_is_clean(
    writer: Writer, tmp_path: Path
) -> None:
    def limit(pages: int) -> Any:
        def work(tx: Transaction) -> None:
            tx._connection.execute(f"PRAGMA max_page_count = {pages}")  # pyright: ignore[reportPrivateUsage]

        return work

    def fill(tx: Transaction) -> None:
        tx.run("insert_workspace", id="big", name="x" * 4_000_000)

    await writer.submit(limit(1))  # no page more than there are
    gate, held = await hold(writer)
    tasks = [asyncio.create_task(writer.submit(work)) for work in (add("a"), fill, add("b"))]
    await asyncio.sleep(0)
    gate.let_go.set()
    await held
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, StoreUnavailable) for result in results), results
    await writer.submit(limit(1_000_000))
    await writer.submit(add("after"))
    assert names(tmp_path / "switchboard.db") == {"after"}


async def test_a_foreign_lock_makes_changes_unavailable_and_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        connection_module,
        "_PRAGMAS",
        (
            *connection_module._PRAGMAS,  # pyright: ignore[reportPrivateUsage]
            "PRAGMA busy_timeout = 50",
        ),
    )
    path = tmp_path / "switchboard.db"
    writer = Writer(path, FakeClock())
    await writer.start()
    foreign = sqlite3.connect(path, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable):
        await writer.submit(add("blocked"))
    foreign.execute("ROLLBACK")
    foreign.close()
    await writer.submit(add("free"))
    assert names(path) == {"free"}
    await writer.stop()


async def test_stop_finishes_what_was_submitted_and_takes_nothing_new(
    writer: Writer, tmp_path: Path
) -> None:
    gate, held = await hold(writer)
    submitted = asyncio.create_task(writer.submit(add("in time")))
    await asyncio.sleep(0)
    stopping = asyncio.create_task(writer.stop())
    await asyncio.sleep(0)
    with pytest.raises(StoreUnavailable):
        await writer.submit(add("too late"))
    gate.let_go.set()
    await asyncio.gather(held, submitted, stopping)
    await writer.stop()
    assert names(tmp_path / "switchboard.db") == {"in time"}


async def test_stop_is_safe_before_start(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "switchboard.db", clock=FakeClock())
    await store.stop()
    with pytest.raises(StoreUnavailable):
        await store.ping()


async def test_a_writer_that_dies_says_so_and_leaves_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fatal = asyncio.Event()
    store = SqliteStore(tmp_path / "switchboard.db", clock=FakeClock(), on_fatal=fatal.set)
    await store.start()
    writer = store._writer  # pyright: ignore[reportPrivateUsage]

    def dies(*_: object) -> None:
        raise SystemExit

    monkeypatch.setattr(writer, "_commit", dies)
    lost = asyncio.create_task(writer.submit(add("lost")))
    await asyncio.wait_for(fatal.wait(), BOUND_S)
    with pytest.raises(StoreUnavailable):
        await store.ping()
    with pytest.raises(StoreUnavailable):
        await writer.submit(add("x"))
    with pytest.raises(StoreUnavailable):
        await asyncio.wait_for(lost, 5)  # told at once, not when its own time is up
    await store.stop()


async def test_another_threads_write_is_refused(writer: Writer) -> None:
    with pytest.raises(AssertionError):
        writer._serve_batch(sqlite3.connect(":memory:"))  # pyright: ignore[reportPrivateUsage]


async def test_a_broken_constraint_is_a_store_error_that_a_retry_will_not_cure(
    writer: Writer,
) -> None:
    await writer.submit(add("a"))
    with pytest.raises(StoreError) as refused:
        await writer.submit(add("a"))
    assert not isinstance(refused.value, StoreUnavailable)
    assert isinstance(refused.value.__cause__, sqlite3.IntegrityError)


KILLED = """
import asyncio, os, sys
from pathlib import Path
from switchboard.clock import SystemClock
from switchboard.stores.sqlite.writer import Writer
async def main():
    writer = Writer(Path(sys.argv[1]), SystemClock())
    await writer.start()
    async def work(name):
        await writer.submit(lambda tx: tx.run("insert_workspace", id=name, name=name))
        os.write(1, (name + "\\n").encode())
    n = 0
    while True:
        await asyncio.gather(*(work(f"{n}-{k}") for k in range(8)))
        n += 1
asyncio.run(main())
"""


def test_every_acknowledged_change_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "switchboard.db"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        acknowledged = [process.stdout.readline().strip() for _ in range(400)]
        process.kill()
        acknowledged += [line.strip() for line in process.stdout if line.endswith("\n")]
    assert len(acknowledged) >= 400
    assert set(acknowledged) <= names(path)


async def test_a_newer_schema_and_a_foreign_file_are_refused_with_one_line(tmp_path: Path) -> None:
    newer, foreign = tmp_path / "newer.db", tmp_path / "foreign.db"
    with sqlite3.connect(newer) as made:
        made.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        made.execute("PRAGMA user_version = 999")
    made.close()
    with sqlite3.connect(foreign) as made:
        made.execute("CREATE TABLE mine (a)")
    made.close()
    for path in (newer, foreign):
        before = path.read_bytes()
        store = SqliteStore(path, clock=FakeClock())
        with pytest.raises(SchemaMismatch) as refused:
            await store.start()
        assert "\n" not in str(refused.value)
        await store.stop()
        if path is foreign:
            assert b"workspace" not in path.read_bytes()
        assert before[:15] == path.read_bytes()[:15]
