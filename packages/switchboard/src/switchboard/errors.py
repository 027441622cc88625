"""Failures of the service, sorted by what the caller can do.

    SwitchboardError
    ├── SettingsError          correct the settings; all problems are in the message
    ├── StoreError             the ledger could not answer
    │   ├── StoreUnavailable   try again: busy, locked, disk full, stopping
    │   └── SchemaMismatch     install the version that fits the database
    └── DataDirectoryInUse     another process serves this data directory

Refusals that callers decide on are values (`domain.refusal`), not exceptions.
"""

from __future__ import annotations


class SwitchboardError(Exception):
    """Base of every error that this package raises on purpose."""


class SettingsError(SwitchboardError):
    """One or more settings are wrong; the message lists all of them."""


class StoreError(SwitchboardError):
    """The ledger could not carry out a statement, for a reason that a retry will not cure."""


class StoreUnavailable(StoreError):
    """The ledger cannot answer now. Nothing was changed, or it is not known to have changed."""


class SchemaMismatch(StoreError):
    """The database was written by another version of the service."""


class DataDirectoryInUse(SwitchboardError):
    """Another process holds the data directory; the message names its pid."""
