"""Draws the layout of the sources from the first line that each package says of itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.docs.code_blocks import ROOT

SOURCES = tuple(sorted(ROOT.glob("packages/*/src/*")))


def layout() -> str:
    """A row for each package of both distributions, outer ones first."""
    return "\n".join(["| package | what is in it |", "|---|---|", *_rows()])


def _rows() -> Iterator[str]:
    for source in SOURCES:
        for init in sorted(source.rglob("__init__.py"), key=lambda init: init.parent.parts):
            package = ".".join(init.parent.relative_to(source.parent).parts)
            link = init.parent.relative_to(ROOT)
            yield f"| [`{package}`]({link}) | {_first_line(init)} |"


def _first_line(init: Path) -> str:
    said = ast.get_docstring(ast.parse(init.read_text("utf-8")))
    assert said, f"{init.parent.name}/__init__.py does not say what its package is"
    return said.splitlines()[0]
