"""The one line that a program reads from standard output; everything else goes to standard error.

What is served is foreign code that may print at any time.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping

_STDOUT, _STDERR = 1, 2


class StandardOutput:
    """Standard output as it was when `take` was called; afterwards nobody else has it."""

    def __init__(self) -> None:
        self._fd: int | None = None

    def take(self) -> None:
        """Have everybody else print to standard error. None of the two need be open."""
        with contextlib.suppress(OSError):  # closed, as a daemon's may be
            self._fd = os.dup(_STDOUT)  # not inherited by programs that a tool starts
            os.dup2(_STDERR, _STDOUT)

    def tell(self, ready: Mapping[str, str]) -> None:
        """Write one line of JSON, once, and close: then it has an end that can be read to."""
        if self._fd is None:
            return
        fd, self._fd = self._fd, None
        with contextlib.suppress(BrokenPipeError), open(fd, "w", encoding="utf-8") as line:
            line.write(json.dumps(ready) + "\n")
