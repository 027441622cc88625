"""The engines that the contract is run on: each entry makes a store that was not started yet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from switchboard.clock import Clock
from switchboard.store import Store

ENGINES: dict[str, Callable[[Path, Clock], Store]] = {}
