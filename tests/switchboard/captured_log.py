"""What the service would write to its log, kept for a test to read."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import structlog

from switchboard.log import configure_logging


class CapturedLog:
    """The records of one test, as the service writes them."""

    def __init__(self, stream: io.StringIO) -> None:
        self._stream = stream

    @property
    def text(self) -> str:
        """Everything written so far."""
        return self._stream.getvalue()

    @property
    def records(self) -> list[dict[str, Any]]:
        """The lines, read."""
        return [json.loads(line) for line in self.text.splitlines()]

    def of(self, event: str) -> list[dict[str, Any]]:
        """The records of one event."""
        return [record for record in self.records if record["event"] == event]

    def the(self, event: str) -> dict[str, Any]:
        """The one record of an event; fails when there are none or more."""
        (record,) = self.of(event)
        return record


@contextmanager
def captured_log(level: str = "info") -> Generator[CapturedLog]:
    """Log as the service does, as JSON and into memory; afterwards all is as it was."""
    root = logging.getLogger()
    handlers, before = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logging(level, "auto", stream)
    try:
        yield CapturedLog(stream)
    finally:
        root.handlers[:] = handlers
        root.setLevel(before)
        structlog.reset_defaults()
