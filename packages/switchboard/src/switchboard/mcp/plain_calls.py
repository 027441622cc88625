"""Tool calls that say nothing unusual, answered before the kernel looks at them twice.

The kernel reads a call through three models and writes its result through a fourth, a third of
what a call costs. A middleware may answer instead, and then owns the whole result. So a call with
a name, arguments and a plain envelope goes straight to its tool; every other one, faults included,
takes the way through the kernel and is judged there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from mcp_types import LOG_LEVEL_META_KEY, SERVER_INFO_META_KEY

_FIELDS = frozenset(("name", "arguments", "_meta"))


def plain_call(method: str, params: Mapping[str, Any] | None) -> tuple[str, dict[str, Any]] | None:
    """A tool's name and its arguments; None: this is for the kernel."""
    if method != "tools/call" or params is None or not _FIELDS.issuperset(params):
        return None
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or not _is_plain_meta(params.get("_meta", _NO_META)):
        return None
    if arguments is None:
        return name, {}
    return (name, cast("dict[str, Any]", arguments)) if isinstance(arguments, dict) else None


def in_session_era(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer as the session eras know it: a result has no type there."""
    answer.pop("resultType", None)
    return answer


def in_modern_era(answer: dict[str, Any], server_info: dict[str, Any]) -> dict[str, Any]:
    """An answer with the server's name on it, which each result of this era carries."""
    answer["_meta"] = {**answer.get("_meta", {}), SERVER_INFO_META_KEY: server_info}
    return answer


_NO_META: dict[str, Any] = {}


def _is_plain_meta(meta: object) -> bool:
    if not isinstance(meta, dict):
        return False
    known = cast("dict[str, Any]", meta)
    token = known.get("progressToken", 0)
    return type(token) in (int, str) and LOG_LEVEL_META_KEY not in known
