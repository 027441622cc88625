"""Lines from one descriptor and to another one, without a thread and without blocking the loop.

The SDK reads standard input in a thread, which nothing can end before the next line comes, so a
stop would wait for a peer that has nothing to say. Neither descriptor is made non-blocking: that
would be seen by every process that shares the pipe or the terminal. Needs POSIX.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import stat
from collections import deque

MAX_LINE_BYTES = 16 * 1024 * 1024
"""The peer is the user, so this is no admission: it keeps a stream without line ends in bounds."""

_READ_BYTES = 64 * 1024
_READ_AHEAD_BYTES = 256 * 1024
_WRITE_BYTES = min(select.PIPE_BUF, 4096)
"""As much as a descriptor that says it can be written to takes at once."""

_WRITE_BEHIND_BYTES = 256 * 1024
_BROKEN = select.POLLERR | select.POLLHUP | select.POLLNVAL


class LineReader:
    """Reads from `open` to `close`, a little ahead of whoever takes the lines.

    `ended` is done once the other end has been closed; lines that came before can still be taken.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._buffer = bytearray()
        self._searched = 0
        self._is_skipping = False
        self._lines: deque[bytes] = deque()
        self._kept_bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self._is_watching = False
        self._is_closed = False
        self._can_wait = True

    def open(self) -> None:
        """Begin to read."""
        if self._is_watching or self._is_closed or self.ended.done():
            return
        self._is_watching = True
        if self._can_wait:
            try:
                self._loop.add_reader(self._fd, self._read)
            except OSError:  # a file or the null device: never waited for
                self._can_wait = False
        if not self._can_wait:
            self._loop.call_soon(self._read)

    def close(self) -> None:
        """Stop reading. The descriptor stays open: it is its owner's."""
        self._is_closed = True
        self._pause()
        self._wake()

    async def line(self) -> bytes | None:
        """The next line without its end; None after the last one.

        Of a line that is too long only the first part is given.
        """
        while not self._lines:
            if self.ended.done() or self._is_closed:
                return None
            self._waiter = self._loop.create_future()
            await self._waiter
        line = self._lines.popleft()
        self._kept_bytes -= len(line) + 1
        if self._kept_bytes < _READ_AHEAD_BYTES:
            self.open()
        return line

    def _read(self) -> None:
        if not self._is_watching:
            return
        try:
            chunk = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:  # a terminal that was hung up
            chunk = b""
        self._take(chunk)
        if not chunk:
            self._pause()
            self.ended.set_result(None)
        elif self._kept_bytes >= _READ_AHEAD_BYTES:
            self._pause()
        elif not self._can_wait:
            self._loop.call_soon(self._read)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _take(self, chunk: bytes) -> None:
        self._buffer += chunk
        while (end := self._buffer.find(b"\n", self._searched)) >= 0:
            self._keep(end)
            del self._buffer[: end + 1]
            self._searched, self._is_skipping = 0, False
        if not chunk and self._buffer:
            self._keep(len(self._buffer))
        self._searched = len(self._buffer)
        if self._searched > MAX_LINE_BYTES:
            self._keep(MAX_LINE_BYTES)
            self._buffer.clear()
            self._searched, self._is_skipping = 0, True

    def _keep(self, end: int) -> None:
        if not self._is_skipping:
            self._lines.append(bytes(self._buffer[:end]))
            self._kept_bytes += end + 1  # of empty lines too, there must be an end

    def _pause(self) -> None:
        if self._is_watching and self._can_wait:
            self._loop.remove_reader(self._fd)
        self._is_watching = False


class LineWriter:
    """Writes whole lines, in the order in which they were given.

    Whoever gives one may be cancelled while it waits: the line is written nevertheless, whole.
    `gone` is done once nobody reads any more.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self._parts: deque[memoryview] = deque()
        self._waiting_bytes = 0
        self._waiters: list[asyncio.Future[None]] = []
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)
        self._is_pipe = stat.S_ISFIFO(os.fstat(fd).st_mode)
        self._is_watching = False

    def open(self) -> None:
        """Notice from now on that the other end was closed, even while nothing is written."""
        if self._is_pipe:
            # Nobody reads from this end: a pipe becomes readable here by breaking, or never.
            self._loop.add_reader(self._fd, self._look)

    def close(self) -> None:
        """Write no more. The descriptor stays open: it is its owner's."""
        self._lose()

    async def write(self, line: bytes) -> None:
        """Write `line` and its end; return when not much is waiting to be read."""
        if self.gone.done():
            raise BrokenPipeError
        self._parts.append(memoryview(line + b"\n"))
        self._waiting_bytes += len(line) + 1
        if not self._is_watching:
            self._write()
        if self._waiting_bytes > _WRITE_BEHIND_BYTES:
            await self._until_written()

    async def drain(self, seconds: float) -> None:
        """Wait until all is written, the reader is gone, or the time is up."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._parts and not self.gone.done():
                    await self._until_written()

    async def _until_written(self) -> None:
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def _write(self) -> None:
        while self._parts:
            try:
                written = self._write_some()
            except BlockingIOError:
                written = 0
            except OSError:
                self._lose()
                return
            if not written:
                self._watch()
                return
            self._waiting_bytes -= written
            self._parts[0] = self._parts[0][written:]
            if not self._parts[0]:
                self._parts.popleft()
        self._unwatch()
        self._wake()

    def _write_some(self) -> int:
        ready = self._poll.poll(0)
        if not ready:
            return 0
        if ready[0][1] & _BROKEN:
            raise BrokenPipeError
        return os.write(self._fd, self._parts[0][:_WRITE_BYTES])

    def _watch(self) -> None:
        if not self._is_watching:
            self._is_watching = True
            self._loop.add_writer(self._fd, self._write)

    def _unwatch(self) -> None:
        if self._is_watching:
            self._is_watching = False
            self._loop.remove_writer(self._fd)

    def _look(self) -> None:
        if any(events & _BROKEN for _, events in self._poll.poll(0)):
            self._lose()

    def _lose(self) -> None:
        self._unwatch()
        if self._is_pipe:
            self._loop.remove_reader(self._fd)
        self._parts.clear()
        self._waiting_bytes = 0
        if not self.gone.done():
            self.gone.set_result(None)
        self._wake()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
