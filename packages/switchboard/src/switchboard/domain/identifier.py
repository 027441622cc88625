"""Time-sortable identifiers: a prefix, 48 bits of milliseconds, 80 random bits, in base32."""

from __future__ import annotations

import re

from switchboard.domain.credential import RandomBytes

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
IDENTIFIER = re.compile(r"[a-z]{2}_[0-9a-hjkmnp-tv-z]{26}")
TODO_ID = re.compile(r"td_[0-9a-hjkmnp-tv-z]{26}")


def mint_identifier(prefix: str, now_ms: int, random_bytes: RandomBytes) -> str:
    """A new identifier such as `td_01…`; later ones sort after earlier ones."""
    value = (now_ms << 80) | int.from_bytes(random_bytes(10), "big")
    digits = [_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5)]
    return f"{prefix}_{''.join(digits)}"
