"""How answers are shown: JSON for scripts, short tables for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table


def print_json(document: object) -> None:
    """One JSON document, indented. Flushed here: at the interpreter's end a reader that has left
    is no longer an error that anybody can handle.
    """
    print(json.dumps(document, indent=2, ensure_ascii=False), flush=True)


def tell_failure(code: str, detail: str, *, as_json: bool) -> None:
    """Why a command failed, on standard error: one document for scripts, a line for people."""
    shown = json.dumps({"error": {"code": code, "detail": detail}}) if as_json else detail
    print(shown, file=sys.stderr)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]], empty: str) -> None:
    """A table, or the sentence `empty`. Texts are shown as they are, not as markup."""
    if not rows:
        print(empty)
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(printable(cell) for cell in row))
    width = None if sys.stdout.isatty() else 200
    Console(markup=False, highlight=False, width=width).print(table)


def print_fields(fields: Sequence[tuple[str, Any]]) -> None:
    """Name and value, one pair a line; what is absent is left out."""
    shown = [(name, printable(value)) for name, value in fields if value not in (None, "", [])]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        print(f"{name:<{width}}  {value}")


def printable(value: object) -> str:
    """A value as one line. Control characters of a foreign text must not reach a terminal."""
    if value is None:
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON
    return "".join(mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in text)
