"""A cancel signal that a test sets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class ManualCancel:
    """Implements `agent_transport.session.CancelSignal`."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._calls: list[Callable[[], object]] = []

    def set(self) -> None:
        """Say that the caller is gone. A second time changes nothing."""
        if self._event.is_set():
            return
        self._event.set()
        calls, self._calls = self._calls, []
        for call in calls:
            call()

    def is_set(self) -> bool:
        return self._event.is_set()

    async def wait(self) -> object:
        return await self._event.wait()

    def on_set(self, call: Callable[[], object]) -> Callable[[], None]:
        if self.is_set():
            call()
        else:
            self._calls.append(call)

        def forget() -> None:
            if call in self._calls:
                self._calls.remove(call)

        return forget
