"""The statements and the schema: each file used, each parses, migrations give the schema."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

import switchboard.stores.sqlite as package
from switchboard.stores.sqlite.connection import connect, migrate, split_statements
from switchboard.stores.sqlite.statements import MIGRATIONS, SCHEMA, SQL

SOURCES = Path(package.__file__).parent


def shape(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {(row[0], row[1], " ".join(row[2].split())) for row in rows}


def test_the_migrations_give_the_same_database_as_the_schema(tmp_path: Path) -> None:
    migrated, plain = connect(tmp_path / "a.db"), sqlite3.connect(":memory:")
    migrate(migrated)
    plain.executescript(SCHEMA)
    assert shape(migrated) == shape(plain)
    migrated.close()
    plain.close()


def test_migrating_twice_changes_nothing(tmp_path: Path) -> None:
    connection = connect(tmp_path / "a.db")
    migrate(connection)
    before = shape(connection)
    migrate(connection)
    assert shape(connection) == before
    assert connection.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
    connection.close()


def test_the_database_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    connect(tmp_path / "a.db").close()
    assert (tmp_path / "a.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", sorted(SQL))
def test_a_statement_parses_says_what_it_is_for_and_is_used(name: str, tmp_path: Path) -> None:
    connection = connect(tmp_path / "a.db")
    migrate(connection)
    values = dict.fromkeys(re.findall(r":([a-z_]+)", SQL[name]))
    connection.execute("EXPLAIN " + SQL[name], values)
    connection.close()
    assert SQL[name].startswith("-- ")
    assert len(split_statements(SQL[name] + ";")) == 1
    code = "".join(path.read_text() for path in SOURCES.glob("*.py"))
    assert f'"{name}"' in code


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("first_below", "todo_ready"),
        ("next_band", "todo_ready"),
        ("next_ready_at", "todo_ready"),
        ("lapsed_todos", "todo_leases"),
        ("became_ready", "todo_due"),
        ("list_live", "todo_live"),
        ("list_ended", "todo_ended"),
        ("todo_by_live_key", "todo_live_key"),
        ("live_claim_by_key", "todo_claim_key"),
        ("caller_by_credential", "sqlite_autoindex_credential"),
        ("expired_endpoints", "endpoint_expiring"),
        ("expired_credentials", "credential_expiring"),
    ],
)
def test_a_hot_statement_walks_its_index_and_sorts_nothing(
    name: str, index: str, tmp_path: Path
) -> None:
    connection = connect(tmp_path / "a.db")
    migrate(connection)
    values = dict.fromkeys(re.findall(r":([a-z_]+)", SQL[name]))
    plan = " ".join(row[3] for row in connection.execute("EXPLAIN QUERY PLAN " + SQL[name], values))
    connection.close()
    assert index in plan
    assert "TEMP B-TREE" not in plan
    assert "SCAN" not in plan
