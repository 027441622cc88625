"""The rules of single fields. A fault is a `Refusal` that names its field."""

from __future__ import annotations

import re
from datetime import datetime

import orjson

from switchboard.domain.refusal import Code, Refusal

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""NUL and lone surrogates: no store keeps them and no JSON text can carry them back."""
_ESCAPED_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
"""A NUL in JSON text, but not a backslash that is itself followed by `u0000`."""
_LEVELS_AROUND = 8
"""More than any answer puts around a kept value. What is nested just deep enough to be read could
otherwise never be written into an answer again: its todo would be claimed, and nobody told."""
_LINE_BREAK = re.compile("[\r\n\x0b\x0c\x85\u2028\u2029]")


def invalid(field: str) -> Refusal:
    """The refusal of one argument."""
    return Refusal(Code.INVALID_ARGUMENT, field=field)


def is_storable(text: str) -> bool:
    """Whether `text` survives every store and every surface."""
    return _UNSTORABLE.search(text) is None


def is_one_line(text: str, max_chars: int) -> bool:
    """Whether `text` is a non-empty single line of at most `max_chars`."""
    return (
        0 < len(text) <= max_chars
        and bool(text.strip())
        and is_storable(text)
        and _LINE_BREAK.search(text) is None
    )


def json_text(value: object, max_bytes: int) -> str | None:
    """`value` as JSON text, or None: too large, too deep, with NUL or lone surrogates."""
    for _ in range(_LEVELS_AROUND):
        value = [value]
    try:
        raw = orjson.dumps(value)[_LEVELS_AROUND:-_LEVELS_AROUND]
    except TypeError:  # lone surrogates, integers beyond 64 bits, too deep
        return None
    if len(raw) > max_bytes or _ESCAPED_NUL.search(raw):
        return None
    return raw.decode("utf-8")


def instant_ms(text: str) -> int | None:
    """An RFC 3339 time in milliseconds since 1970; None when it is none, or has no offset."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None else round(moment.timestamp() * 1000)
