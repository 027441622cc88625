"""A queue: a name inside a workspace, and how its todos are handed out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from switchboard.domain.workspace import WorkspaceId

QUEUE_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
"""1 to 64 of a-z, 0-9, dot, dash, underscore; starts and ends with a letter or digit."""


class RingPolicy(StrEnum):
    """Whom a ready todo wakes: every listening endpoint, or one at a time (a pool)."""

    ALL = "all"
    ONE = "one"


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue row. It comes into being with its first todo or its first endpoint."""

    workspace_id: WorkspaceId
    name: str
    paused: bool
    ring: RingPolicy
    created_at_ms: int


def is_queue_name(text: str) -> bool:
    """Whether `text` may name a queue."""
    return QUEUE_NAME.fullmatch(text) is not None
