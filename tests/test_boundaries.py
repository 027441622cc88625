"""What a module may reach for in the standard library, which import-linter does not watch."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

from switchboard import store

ROOT = Path(__file__).resolve().parents[1]
SERVICE = ROOT / "packages/switchboard/src/switchboard"
IMPURE = {"asyncio", "logging", "os", "pathlib", "secrets", "socket", "time", "uuid"}


def test_the_domain_has_no_clock_no_randomness_and_no_environment_of_its_own() -> None:
    """`random.Random` is the type of a source that is handed in."""
    domain = sorted((SERVICE / "domain").glob("*.py"))
    imported = {(path.name, name) for path in domain for name in _imports(path)}
    assert imported
    assert not [(file, name) for file, name in imported if name in IMPURE]
    assert {name for path in domain for name in _attributes_of("random", path)} <= {"Random"}


def test_the_database_driver_is_known_in_the_stores_alone() -> None:
    users = {path for path in SERVICE.rglob("*.py") if "sqlite3" in _imports(path)}
    assert users
    assert not [path.name for path in users if SERVICE / "stores" not in path.parents]


def test_no_call_of_the_store_says_what_time_it_is() -> None:
    contracts = [one for _, one in inspect.getmembers(store, inspect.isclass)]
    methods = [
        method
        for one in contracts
        if one.__module__ == store.__name__
        for _, method in inspect.getmembers(one, inspect.isfunction)
    ]
    assert len(methods) > 20
    assert not [m.__qualname__ for m in methods if "now_ms" in inspect.signature(m).parameters]


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def _attributes_of(module: str, path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name == module:
                yield attribute
            case _:
                pass
