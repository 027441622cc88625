"""Which entries the tests refer to, read from their sources without running them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
NOT_SCANNED = ("node_modules", "specification")


@dataclass(frozen=True, slots=True)
class Reference:
    """One id at one decorator. `id` None: the argument is no literal and cannot be checked."""

    id: str | None
    place: str


def references() -> tuple[Reference, ...]:
    """Every `@requirement(...)` under tests/, in the order of the files."""
    sources = sorted(TESTS.rglob("test_*.py"))
    return tuple(
        reference
        for path in sources
        if not set(NOT_SCANNED) & set(path.relative_to(TESTS).parts)
        for reference in references_in(path.read_text("utf-8"), str(path.relative_to(TESTS)))
    )


def references_in(source: str, name: str) -> Iterator[Reference]:
    """The references of one file: decorators of its test functions and test classes."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if not node.name.startswith(("test_", "Test")):
            continue
        for decorator in node.decorator_list:
            yield from _ids_of(decorator, f"{name}::{node.name}")


def _ids_of(decorator: ast.expr, place: str) -> Iterator[Reference]:
    if not isinstance(decorator, ast.Call) or not _names_requirement(decorator.func):
        return
    for argument in decorator.args:
        literal = argument.value if isinstance(argument, ast.Constant) else None
        yield Reference(literal if isinstance(literal, str) else None, place)


def _names_requirement(function: ast.expr) -> bool:
    """`requirement(...)` and the longhand `pytest.mark.requirement(...)` alike."""
    if isinstance(function, ast.Name):
        return function.id == "requirement"
    return isinstance(function, ast.Attribute) and function.attr == "requirement"
