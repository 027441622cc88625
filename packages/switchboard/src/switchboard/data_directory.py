"""The directory that holds a service's data: who may use it, and what lies where."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from switchboard.domain.credential import OPERATOR_TOKEN
from switchboard.errors import DataDirectoryInUse, SwitchboardError

_OWNER_ONLY_DIRECTORY = 0o700
_OWNER_ONLY_FILE = 0o600


class DataDirectoryError(SwitchboardError):
    """The directory cannot be made or written; the message says why."""


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """One directory. `prepare` before anything else but reading."""

    path: Path

    @property
    def database_path(self) -> Path:
        return self.path / "switchboard.db"

    @property
    def token_path(self) -> Path:
        """The local operator token, by which the command line on this machine comes in."""
        return self.path / "operator-token"

    @property
    def lock_path(self) -> Path:
        return self.path / "switchboard.lock"

    def prepare(self) -> None:
        """Make the directory, readable by its owner alone. One that exists keeps its mode."""
        try:
            self.path.mkdir(mode=_OWNER_ONLY_DIRECTORY, parents=True, exist_ok=True)
        except OSError as error:
            raise DataDirectoryError(f"data directory {self.path}: {error.strerror}") from error

    @contextmanager
    def held(self) -> Generator[HeldDirectory, None, None]:
        """Hold the directory until the end of the block; the OS frees it if the process dies.

        Raises:
            DataDirectoryInUse: naming the pid of the process that holds it.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            descriptor = os.open(self.lock_path, flags, _OWNER_ONLY_FILE)
        except OSError as error:
            raise DataDirectoryError(f"{self.lock_path}: {error.strerror}") from error
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                holder = os.pread(descriptor, 32, 0).split(b"\n")[0].decode("ascii", "replace")
                raise DataDirectoryInUse(
                    f"data directory {self.path} is in use by process {holder or 'unknown'}"
                ) from error
            held = HeldDirectory(descriptor)
            held.announce("")
            yield held
            # The file stays: removing it would let two processes lock two different inodes.
            os.ftruncate(descriptor, 0)
        finally:
            os.close(descriptor)

    def announced_url(self) -> str | None:
        """The address of the service that holds this directory, if one does."""
        try:
            lines = self.lock_path.read_text("ascii").split("\n")
        except (OSError, ValueError):
            return None
        return lines[1] if len(lines) > 1 and lines[1] else None

    def read_token(self) -> str | None:
        """The local operator token; None when the file is absent or no token."""
        try:
            text = self.token_path.read_text("ascii").strip()
        except (OSError, ValueError):
            return None
        return text if OPERATOR_TOKEN.fullmatch(text) else None

    def write_token(self, token: str) -> None:
        """Put the token into its file, for the owner alone, whole or not at all."""
        partial = self.path / f".operator-token-{secrets.token_hex(4)}"
        try:
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY_FILE)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(token + "\n")
                file.flush()
                os.fsync(descriptor)
            partial.replace(self.token_path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise DataDirectoryError(f"{self.token_path}: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class HeldDirectory:
    """A directory that this process holds."""

    descriptor: int

    def announce(self, url: str) -> None:
        """Leave our pid, and the address at which commands on this machine reach us."""
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, f"{os.getpid()}\n{url}\n".encode("ascii"), 0)
