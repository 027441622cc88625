"""The one line that a program reads from standard output; everything else goes to standard error.

What is served is foreign code that may print at any time.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping

_STDIN, _STDOUT, _STDERR = range(3)


class StandardOutput:
    """Standard output as it was when `take` was called; afterwards nobody else has it.

    Make it before anything is opened: a standard stream that is closed, as a daemon's may be,
    would lend its number to that, and what somebody prints would go there.
    """

    def __init__(self) -> None:
        self._fd: int | None = None
        _fill_closed()

    def take(self) -> None:
        """Have everybody else print to standard error."""
        self._fd = os.dup(_STDOUT)  # not inherited by programs that a tool starts
        os.dup2(_STDERR, _STDOUT)

    def tell(self, ready: Mapping[str, str]) -> None:
        """Write one line of JSON, once, and close: then it has an end that can be read to."""
        if self._fd is None:
            return
        fd, self._fd = self._fd, None
        with contextlib.suppress(BrokenPipeError), open(fd, "w", encoding="utf-8") as line:
            line.write(json.dumps(ready) + "\n")


def _fill_closed() -> None:
    for number in (_STDIN, _STDOUT, _STDERR):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # takes the lowest number
