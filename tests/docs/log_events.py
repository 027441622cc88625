"""The log events that the sources name, read from them without running them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.docs.code_blocks import ROOT

_LEVELS = {"exception": "error"}
"""`logger.exception` writes a record of level error."""
_EVENT = re.compile(r"[a-z]+(?:_[a-z]+)*(?=:? |$)")


def log_events() -> set[tuple[str, str]]:
    """Each event with its level.

    Raises:
        AssertionError: a call whose event is no literal, or no word of its own.
    """
    sources = sorted((ROOT / "packages").glob("*/src/**/*.py"))
    return {found for path in sources for found in events_in(path.read_text("utf-8"), path.name)}


def events_in(source: str, name: str) -> Iterator[tuple[str, str]]:
    """The events of one file, in whose code `_log` is the logger."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if not isinstance(node.func.value, ast.Name) or node.func.value.id != "_log":
            continue
        event = node.args[0] if node.args else None
        said = event.value if isinstance(event, ast.Constant) else None
        word = _EVENT.match(said) if isinstance(said, str) else None
        assert word is not None, f"{name}:{node.lineno}: a record begins with its event"
        yield word[0], _LEVELS.get(node.func.attr, node.func.attr)
