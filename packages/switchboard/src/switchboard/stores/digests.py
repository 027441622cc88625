"""What makes two endings of an attempt the same one, whoever keeps them."""

from __future__ import annotations

import hashlib

import orjson

from switchboard.domain.todo import Step


def ending_digest(step: Step, *content: str | bool | int | None) -> bytes:
    """What makes two endings "the same content": the step and everything that was said with it."""
    return hashlib.sha256(orjson.dumps([step, *content])).digest()


def canonical_json(text: str | None) -> str | None:
    """A JSON text with its keys in order, so that spelling does not make a difference."""
    if text is None:
        return None
    return orjson.dumps(orjson.loads(text), option=orjson.OPT_SORT_KEYS).decode()
