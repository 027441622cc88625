"""OAuth scopes: the characters of RFC 6749 §3.3, reading, writing, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable

_SCOPE_CHARACTERS = frozenset(chr(code) for code in (0x21, *range(0x23, 0x5C), *range(0x5D, 0x7F)))


def is_scope(text: str) -> bool:
    """Tell whether the text is one scope: never empty, no blank, quote or backslash."""
    return bool(text) and _SCOPE_CHARACTERS.issuperset(text)


def parse_scopes(text: str) -> frozenset[str]:
    """The scopes of a blank-separated list. What is no scope is left out: it can match none."""
    return frozenset(filter(is_scope, text.split(" ")))


def write_scopes(scopes: Iterable[str]) -> str:
    """The list as it stands in a challenge or a token, in the given order."""
    return " ".join(scopes)


def lacks_scope(required: Iterable[str], granted: frozenset[str]) -> bool:
    """Tell whether any of the required scopes was not granted."""
    return not granted.issuperset(required)
