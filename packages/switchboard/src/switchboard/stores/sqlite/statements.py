"""The SQL of this store, read once: one statement a file, named as it is called."""

from __future__ import annotations

from importlib.resources import files

_HERE = files("switchboard.stores.sqlite")

SQL: dict[str, str] = {
    entry.name.removesuffix(".sql"): entry.read_text(encoding="utf-8")
    for entry in _HERE.joinpath("sql").iterdir()
    if entry.name.endswith(".sql")
}

MIGRATIONS: tuple[str, ...] = tuple(
    entry.read_text(encoding="utf-8")
    for entry in sorted(_HERE.joinpath("migrations").iterdir(), key=lambda entry: entry.name)
    if entry.name.endswith(".sql")
)

SCHEMA: str = _HERE.joinpath("schema.sql").read_text(encoding="utf-8")
