"""ARCHITECTURE.md claims nothing that no test shows."""

from __future__ import annotations

import ast
import re

from tests.docs.code_blocks import PAGES, ROOT

_NAMED = re.compile(r"`(test_\w+)`")


def _invariants() -> dict[str, str]:
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    section = page.split("\n## What always holds\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^(\d+)\. (.*?)(?=^\d+\. |\Z)", section, re.M | re.S))


def _tests() -> set[str]:
    return {
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        if "node_modules" not in path.parts
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    }


def test_each_invariant_names_the_tests_that_show_it() -> None:
    invariants = _invariants()
    assert list(invariants) == [str(number + 1) for number in range(len(invariants))]
    assert len(invariants) >= 8
    assert not [number for number, text in invariants.items() if not _NAMED.search(text)]


def test_each_test_that_a_page_names_exists() -> None:
    tests = _tests()
    named = {(page.name, name) for page in PAGES for name in _NAMED.findall(page.read_text())}
    assert named
    assert not [(page, name) for page, name in named if name not in tests]
