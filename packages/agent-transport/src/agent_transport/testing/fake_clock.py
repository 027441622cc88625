"""A clock that stands still until a test moves it, and sleeps that end when it has moved enough."""

from __future__ import annotations

import asyncio


class FakeClock:
    """Pass `now` where monotonic seconds are asked for and `sleep` where a sleep is."""

    def __init__(self, at_s: float = 1000.0) -> None:
        self.at_s = at_s
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._slept = asyncio.Event()

    def now(self) -> float:
        """Where the clock stands."""
        return self.at_s

    async def sleep(self, seconds: float) -> None:
        """Return once the clock has been moved by so much."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        sleeper = (self.at_s + seconds, woken)
        self._sleepers.append(sleeper)
        self._slept.set()
        try:
            await woken
        finally:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)

    def advance(self, seconds: float) -> None:
        """Move forwards and wake whoever has slept long enough."""
        if seconds < 0:
            raise ValueError("a clock moves forwards")
        self.at_s += seconds
        for due_s, woken in self._sleepers:
            if due_s <= self.at_s and not woken.done():
                woken.set_result(None)

    @property
    def sleepers(self) -> int:
        """How many sleep now."""
        return len(self._sleepers)

    async def until_somebody_sleeps(self) -> None:
        """Return when at least one sleeps; moving the clock earlier would wake nobody."""
        while not self._sleepers:
            self._slept.clear()
            await self._slept.wait()
