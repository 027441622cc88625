"""Durations and times as people type them."""

from __future__ import annotations

import re
from datetime import datetime

_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_DURATION = re.compile(r"([0-9]{1,9})([smhdw])")


def parse_duration_ms(text: str) -> int:
    """`90s`, `30m`, `12h`, `7d` or `2w` in milliseconds.

    Raises:
        ValueError: the text is none of these.
    """
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no duration; write for example 30m, 12h or 7d")
    return int(found[1]) * _UNITS_MS[found[2]]


def parse_moment_ms(text: str, now_ms: int) -> int:
    """An RFC 3339 time, or a duration from now, in milliseconds since 1970.

    Raises:
        ValueError: the text is neither, or a time without its offset from UTC.
    """
    if _DURATION.fullmatch(text.strip()):
        return now_ms + parse_duration_ms(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ValueError(f"{text!r} is no time; write 2026-01-31T09:00:00Z, or 30m from now")
    return round(moment.timestamp() * 1000)
