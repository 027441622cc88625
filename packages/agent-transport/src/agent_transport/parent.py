"""Ending with the process that started this one.

A parent that is killed closes its pipes, and the end of input ends the service; but a brother
process may hold the same pipe open, and a tool may hold up the end of this process in a thread of
its own. So the parent is looked at by itself, and after a while the process is ended the hard way.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

LOOK_EVERY_S = 0.5
END_AFTER_S = 2.5
"""With one look, well under the 5 seconds within which the process is to be gone."""

EXIT_CODE = 70


class ParentWatch:
    """Calls `gone` once, from a thread, when the parent dies; then ends the process.

    A process whose parent had died before is not watched: it has nobody to end with.
    """

    def __init__(self, gone: Callable[[], object]) -> None:
        self._gone = gone
        self._parent = os.getppid()
        self._forget = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="parent-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        if self._parent > 1:
            self._thread.start()

    def forget(self) -> None:
        """Stop watching: this process goes on without its parent. Safe twice."""
        self._forget.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        while os.getppid() == self._parent:
            if self._forget.wait(LOOK_EVERY_S):
                return
        self._gone()
        if not self._forget.wait(END_AFTER_S):
            os._exit(EXIT_CODE)
