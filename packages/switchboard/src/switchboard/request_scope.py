"""What is known of the request at hand, so that each record of the log can say so.

Facts are put down as they become known; whatever is logged for the request, by whichever part
and in whichever task that it started, carries them. `log` reads them.
"""

from __future__ import annotations

import itertools
import secrets
from contextvars import ContextVar
from dataclasses import dataclass, field

_PROCESS = secrets.token_hex(4)
"""Tells the requests of one process from those of the next, or of another replica."""
_numbers = itertools.count(1)


@dataclass(slots=True)
class RequestScope:
    """One HTTP request. Only facts that admission and the guards have checked belong here."""

    number: int = field(default_factory=_numbers.__next__)
    slug: str | None = None
    tool: str | None = None
    todo_id: str | None = None
    session: str | None = None
    """The first characters of the session's id: enough to tell two apart."""

    @property
    def facts(self) -> dict[str, str]:
        """The keys of a log record."""
        known = {
            "request_id": f"{_PROCESS}-{self.number}",
            "slug": self.slug,
            "tool": self.tool,
            "todo_id": self.todo_id,
            "session": self.session,
        }
        return {key: value for key, value in known.items() if value is not None}


_at_hand: ContextVar[RequestScope | None] = ContextVar("request at hand", default=None)


def begin_request() -> RequestScope:
    """Let what follows in this task belong to a new request."""
    begun = RequestScope()
    _at_hand.set(begun)
    return begun


def request_at_hand() -> RequestScope | None:
    """The request that this task works for; None: it works for the service itself."""
    return _at_hand.get()
