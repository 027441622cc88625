"""Reading a JSON object that a stranger wrote: one way to read it, or none."""

from __future__ import annotations

import json
from typing import Any, cast


def read_json_object(text: bytes) -> dict[str, Any] | None:
    """Give the object, or None: no JSON, no object, a name twice, a number that is none.

    A name that stands twice is read differently by different parsers, and one of them may be
    the one that signed.
    """
    try:
        value = json.loads(text, object_pairs_hook=_only_once, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _only_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a name stands twice")
    return values


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")
