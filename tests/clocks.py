"""A clock that stands still until a test moves it."""

from __future__ import annotations

from dataclasses import dataclass

START_MS = 1_767_323_045_678
"""2026-01-02T03:04:05.678Z: not round, so that a lost unit or zone shows."""


@dataclass(slots=True)
class FakeClock:
    """Implements `switchboard.clock.Clock`."""

    at_ms: int = START_MS

    def now_ms(self) -> int:
        """Where the clock stands."""
        return self.at_ms

    def advance(self, ms: int) -> None:
        """Move forwards; time that runs backwards is a test's explicit assignment."""
        assert ms >= 0, "advance goes forwards"
        self.at_ms += ms
