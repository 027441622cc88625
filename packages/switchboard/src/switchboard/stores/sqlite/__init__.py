"""The store on SQLite: the default of one machine."""

from switchboard.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
