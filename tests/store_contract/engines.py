"""The engines that the contract is run on: each entry makes a store that was not started yet."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from switchboard.clock import Clock
from switchboard.store import Store
from switchboard.stores.sqlite import SqliteStore


def _sqlite(directory: Path, clock: Clock) -> Store:
    return SqliteStore(directory / "switchboard.db", clock=clock, jitter=random.Random(14))


ENGINES: dict[str, Callable[[Path, Clock], Store]] = {"sqlite": _sqlite}
