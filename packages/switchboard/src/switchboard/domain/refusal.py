"""Why a step was not taken: values, not exceptions, for callers decide on them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
    """The stable error codes of every surface."""

    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    INVALID_ARGUMENT = "invalid_argument"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


class Reason(StrEnum):
    """What stood in the way of a step that exists."""

    HELD_BY_OTHER = "held_by_other"
    LEASE_LOST = "lease_lost"
    ALREADY_DONE = "already_done"
    CANCELLED = "cancelled"
    NOT_DUE = "not_due"
    PAUSED = "paused"
    ASSIGNED_ELSEWHERE = "assigned_elsewhere"
    STALE_TOKEN = "stale_token"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer to a step that was not taken. Nothing has changed.

    `field` names the argument at fault when `code` is `invalid_argument`.
    """

    code: Code
    reason: Reason | None = None
    field: str | None = None
