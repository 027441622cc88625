"""One suite for every engine: a test here never names the store it runs on.

An engine is one entry in `ENGINES`: how to make a store that was not started yet.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from switchboard.clock import Clock
from switchboard.store import Store
from tests.builders import Ledger, found
from tests.clocks import FakeClock


def _sqlite(directory: Path, clock: Clock) -> Store:
    from switchboard.stores.sqlite import SqliteStore

    return SqliteStore(directory / "switchboard.db", clock=clock, jitter=random.Random(14))


ENGINES: dict[str, Callable[[Path, Clock], Store]] = {"sqlite": _sqlite}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest_asyncio.fixture(params=list(ENGINES))
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> AsyncIterator[Store]:
    made = ENGINES[str(request.param)](tmp_path, clock)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


@pytest_asyncio.fixture
async def ledger(store: Store, clock: FakeClock) -> Ledger:
    return await found(store, clock)
