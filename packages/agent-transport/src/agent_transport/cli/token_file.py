"""The file into which the bearer of one start is written, for those who may read it: its owner.

It is always a new file, mode 0600, in a directory in which nobody else can put another one in its
place. When the host ends it is removed, if it is still the same file.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from agent_transport.errors import AgentTransportError, ConfigurationError

_FIELD = "http_token_file"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class TokenFileFailed(AgentTransportError):
    """The file could not be written; nothing of it is left. The cause is the system's error."""

    code = "token_file_failed"


class TokenFile:
    """A place that was free when it was looked at. The directory is held open, not its name.

    Raises:
        ConfigurationError: something is there already, a link that leads nowhere too; or the
            directory does not exist, or somebody else could replace a file in it.
    """

    def __init__(self, path: str) -> None:
        place = Path(path).absolute()
        self.path = place
        self._name = place.name
        if not self._name:
            raise ConfigurationError(_FIELD, "must name a file")
        try:
            self._directory = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise ConfigurationError(_FIELD, "must be in a directory that exists") from error
        self._check()

    def _check(self) -> None:
        if self._identity() is not None:
            raise ConfigurationError(_FIELD, "is there already: it must be a new file")
        directory = os.fstat(self._directory)
        if directory.st_uid not in (os.geteuid(), 0):
            raise ConfigurationError(_FIELD, "must be in a directory of yours")
        shared = directory.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if shared and not directory.st_mode & stat.S_ISVTX:
            raise ConfigurationError(_FIELD, "must be in a directory that others cannot write to")

    @contextmanager
    def holding(self, token: str) -> Generator[None]:
        """The file exists and holds `token` and a line end, from entry to exit.

        Raises:
            TokenFileFailed: somebody was faster, or there is no room.
        """
        try:
            fd = os.open(self._name, _NEW, 0o600, dir_fd=self._directory)
        except OSError as error:
            raise TokenFileFailed(f"cannot make the token file: {error.strerror}") from error
        # Held open all the time: no other file can get its number, and pass for it at the end.
        try:
            _write(fd, token)
            yield
        finally:
            self._remove_if_same(os.fstat(fd))
            os.close(fd)

    def _remove_if_same(self, written: os.stat_result) -> None:
        if self._identity() == (written.st_dev, written.st_ino):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._name, dir_fd=self._directory)

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.lstat(self._name, dir_fd=self._directory)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino


def _write(fd: int, token: str) -> None:
    text = f"{token}\n".encode("ascii")
    try:
        os.fchmod(fd, 0o600)  # whatever the umask took away
        if os.write(fd, text) != len(text):
            raise OSError("no room")
    except OSError as error:
        raise TokenFileFailed(f"cannot write the token file: {error.strerror or error}") from error
