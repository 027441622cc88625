"""The process's standard streams as a wire: whatever else prints or reads finds other ones.

From the moment they are taken, descriptor 0 is the null device and descriptor 1 is standard error,
so that neither a tool that prints, nor a library that logs to standard output, nor a program that a
tool starts can break a frame or eat one. They are never given back: what prints after the end is
no more a frame than what printed before.
"""

from __future__ import annotations

import fcntl
import os
import sys
import threading
from dataclasses import dataclass

from agent_transport.errors import CarrierFailed

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_CLOSED = "standard input or standard output is closed"
_lock = threading.Lock()
_taken: Wire | None = None


@dataclass(frozen=True, slots=True)
class Wire:
    """Two descriptors that carry frames: one is read from, one is written to."""

    inbound: int
    outbound: int


def take_standard_streams() -> Wire:
    """Move the standard streams out of everybody's reach. Safe twice: the wire stays the same.

    Whoever runs foreign code before it starts a transport calls this first.

    Raises:
        CarrierFailed: one of them is closed.
    """
    global _taken
    with _lock:
        if _taken is None:
            _taken = _take()
        return _taken


def _take() -> Wire:
    # What was closed when the program began may be anything by now: the loop's own, for one.
    if sys.__stdin__ is None or sys.__stdout__ is None:
        raise CarrierFailed(_CLOSED)
    try:
        wire = Wire(_private(_STDIN), _private(_STDOUT))
    except OSError as error:
        raise CarrierFailed(_CLOSED) from error
    _divert(os.open(os.devnull, os.O_RDONLY), _STDIN)
    _divert(_open_stderr(), _STDOUT)
    return wire


def _private(fd: int) -> int:
    """A duplicate that no child inherits, and that is none of the standard ones."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _STDERR + 1)


def _divert(source: int, fd: int) -> None:
    os.dup2(source, fd)
    os.close(source)


def _open_stderr() -> int:
    try:
        return os.dup(_STDERR)
    except OSError:  # a daemon without standard error
        return os.open(os.devnull, os.O_WRONLY)
