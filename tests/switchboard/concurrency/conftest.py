"""Each test of this folder runs once for each seed of the shuffled scheduler.

The seed stands in the test's name, so a failure prints it; SCHEDULE_SEEDS=7,8 runs just these.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from tests.switchboard.concurrency.shuffled_loop import ShuffledLoop
from tests.switchboard.mcp.serving import Surface, serving

SEEDS = (1, 2, 3)
FRESH_SEED = random.Random(os.environ.get("PYTEST_XDIST_TESTRUNUID")).randrange(4, 1_000_000)
"""One that nobody tried yet: the suite goes on looking. All workers of a run try the same one."""


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], ShuffledLoop]]:
    chosen = os.environ.get("SCHEDULE_SEEDS")
    seeds = [int(seed) for seed in chosen.split(",")] if chosen else [*SEEDS, FRESH_SEED]
    return {f"seed-{seed}": partial(ShuffledLoop, seed) for seed in seeds}


@pytest_asyncio.fixture
async def surface(tmp_path: Path) -> AsyncIterator[Surface]:
    async with serving(tmp_path) as served:
        yield served


@pytest.fixture(autouse=True)
def nothing_goes_wrong_unseen(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """What the service logs as an error, or asyncio as never retrieved, fails the test."""
    yield
    wrong = [one for one in caplog.get_records("call") if one.levelno >= logging.ERROR]
    assert not wrong, [f"{one.name}: {one.getMessage()} {one.exc_text or ''}" for one in wrong]
