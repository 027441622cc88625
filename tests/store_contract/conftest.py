"""One suite for every engine: a test here never names the store it runs on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from switchboard.store import Store
from tests.builders import Ledger, found
from tests.clocks import FakeClock
from tests.store_contract.engines import ENGINES


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
