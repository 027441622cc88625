"""Connections, their pragmas, the schema's version, and statements inside a transaction."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from switchboard.errors import SchemaMismatch, StoreError, StoreUnavailable
from switchboard.stores.sqlite.statements import MIGRATIONS, SQL

APPLICATION_ID = 0x53574244
"""`SWBD`: marks a database file as ours, so that a foreign one is never migrated."""
BUSY_MS = 5_000
"""How long one statement waits for a foreign lock; below the 10 s that a caller waits."""
CHECKPOINT_BYTES = 16 * 1024 * 1024
"""The write-ahead log is folded into the database when it is longer than this, and then kept at
this length: a commit that overwrites old frames syncs in half the time of one that appends."""

_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    f"PRAGMA busy_timeout = {BUSY_MS}",
    "PRAGMA wal_autocheckpoint = 0",
    f"PRAGMA journal_size_limit = {CHECKPOINT_BYTES}",
    "PRAGMA cache_size = -16000",
    "PRAGMA temp_store = MEMORY",
)


class Transaction:
    """Statements by name on one connection, at one moment of time."""

    __slots__ = ("_connection", "after_commit", "now_ms")

    def __init__(self, connection: sqlite3.Connection, now_ms: int) -> None:
        self._connection = connection
        self.now_ms = now_ms
        self.after_commit: list[Callable[[], None]] = []
        """Run on the event loop after the commit, before anybody is told of it."""

    def one(self, name: str, /, **values: Any) -> sqlite3.Row | None:
        """The first row of a statement; `:now_ms` is always bound."""
        return self._execute(name, values).fetchone()

    def all(self, name: str, /, **values: Any) -> list[sqlite3.Row]:
        """All rows of a statement."""
        return self._execute(name, values).fetchall()

    def run(self, name: str, /, **values: Any) -> int:
        """Carry out a statement; gives the number of rows it changed."""
        return self._execute(name, values).rowcount

    def _execute(self, name: str, values: dict[str, Any]) -> sqlite3.Cursor:
        values["now_ms"] = self.now_ms
        return self._connection.execute(SQL[name], values)


def connect(path: Path) -> sqlite3.Connection:
    """Open the database with the pragmas that every connection needs."""
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    connection.row_factory = sqlite3.Row
    for pragma in _PRAGMAS:
        connection.execute(pragma)
    return connection


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the schema to this version, under an exclusive lock.

    Raises:
        SchemaMismatch: a newer version wrote the file, or it is not a Switchboard database.
    """
    connection.execute("BEGIN EXCLUSIVE")
    try:
        found = _known_version(connection)
        for script in MIGRATIONS[found:]:
            for statement in split_statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def split_statements(script: str) -> list[str]:
    """The single statements of a migration."""
    statements: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending)
            pending = ""
    return statements


_LOGIC_ERROR = 1
"""SQLITE_ERROR: a statement that this database cannot run. The driver files it with lost disks."""


def translated(raised: sqlite3.Error) -> StoreError:
    """A driver's error as the contract names it: transient ones are `StoreUnavailable`."""
    code = getattr(raised, "sqlite_errorcode", None)
    transient = isinstance(raised, sqlite3.OperationalError | sqlite3.InternalError)
    if transient and code != _LOGIC_ERROR:
        return StoreUnavailable(f"the database cannot answer now: {raised}")
    return StoreError(f"the database refused a statement: {raised}")


def _known_version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application != APPLICATION_ID and (tables or version or application):
        raise SchemaMismatch("this file is a database, but not one of Switchboard's")
    if version > len(MIGRATIONS):
        raise SchemaMismatch(
            f"the database has schema {version}, this version knows {len(MIGRATIONS)}: "
            "install the newer version, or restore a backup from before the upgrade"
        )
    return version
