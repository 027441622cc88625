"""The guards that stand before the ledger: arguments against the tool's schema, queue in scope."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from switchboard.domain.endpoint import Caller, Verb
from switchboard.domain.identifier import TODO_ID
from switchboard.domain.refusal import Code, Refusal
from switchboard.domain.todo import MAX_KEY_CHARS, MAX_SUMMARY_BYTES
from switchboard.mcp.schemas import PROPERTIES, REQUIRED, Schema
from switchboard.service.validation import (
    instant_ms,
    invalid,
    is_one_line,
    is_storable,
    json_text,
)

Arguments = dict[str, Any]

_WHOLE = re.compile(r"-?[0-9]{1,8}")
_TRUTHS: dict[object, bool] = {"true": True, "false": False}
_IDS = ("id", "parent_id")
_SHORT = ("summary", "reason")
_MAX_NAMED = 64
"""An unknown argument's name is told back only when it is short enough to be a slip."""


def check(
    verb: Verb, given: Mapping[str, Any], caller: Caller, max_json_bytes: int
) -> Arguments | Refusal:
    """The arguments as the verb takes them, or the refusal of the first one at fault.

    null is the same as absent. `result` comes out as JSON text, `available_at` in milliseconds.
    """
    checked: Arguments = {}
    schemas = PROPERTIES[verb]
    for name, value in given.items():
        schema = schemas.get(name)
        if schema is None:
            return invalid(name if is_one_line(name, _MAX_NAMED) else "arguments")
        if value is None:
            continue
        fitted = _fitted(name, value, schema, max_json_bytes)
        if isinstance(fitted, Refusal):
            return fitted
        checked[name] = fitted
    for name in REQUIRED[verb]:
        if name not in checked:
            return invalid(name)
    if "queue" in checked and not caller.covers(checked["queue"]):
        return Refusal(Code.FORBIDDEN, field="queue")
    return checked


def _fitted(name: str, value: object, schema: Schema, max_json_bytes: int) -> object:
    kind = schema.get("type")
    if kind is None:
        return _any_json(name, value, max_json_bytes)
    if kind == "integer":
        return _whole(name, value, schema)
    if kind == "boolean":
        value = _TRUTHS.get(value, value) if isinstance(value, str) else value
        return value if isinstance(value, bool) else invalid(name)
    if not isinstance(value, str) or not is_storable(value):
        return invalid(name)
    return _text(name, value, schema)


def _text(name: str, value: str, schema: Schema) -> object:
    if "enum" in schema and value not in schema["enum"]:
        return invalid(name)
    if name in _IDS:
        return value if TODO_ID.fullmatch(value) else Refusal(Code.NOT_FOUND, field=name)
    if name == "cursor":
        return value if TODO_ID.fullmatch(value) else invalid(name)
    if name in _SHORT:
        return value if len(value.encode()) <= MAX_SUMMARY_BYTES else invalid(name)
    if name == "claim_key":
        return value if is_one_line(value, MAX_KEY_CHARS) else invalid(name)
    if name == "note":
        return value if is_one_line(value, MAX_SUMMARY_BYTES) else invalid(name)
    if name == "available_at":
        at_ms = instant_ms(value)
        return invalid(name) if at_ms is None else at_ms
    return value


def _any_json(name: str, value: object, max_json_bytes: int) -> object:
    text = json_text(value, max_json_bytes)
    if text is None:
        return invalid(name)
    return text if name == "result" else value


def _whole(name: str, value: object, schema: Schema) -> int | Refusal:
    """ "5" and 5.0 are 5; true is not 1."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return invalid(name)
    return value if schema["minimum"] <= value <= schema["maximum"] else invalid(name)
