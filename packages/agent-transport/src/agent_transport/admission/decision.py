"""What admission decides: a caller is admitted, or a request is refused with one exact answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

Headers = tuple[tuple[bytes, bytes], ...]
"""Header pairs as ASGI has them: names in lower case."""


class Reason(StrEnum):
    """Why a request was refused, for logs and tests. It never travels to the client."""

    HOST = "host"
    ORIGIN = "origin"
    PATH = "path"
    METHOD = "method"
    CREDENTIAL = "credential"
    SCOPE = "scope"
    FOREIGN_CREDENTIAL = "foreign_credential"
    THROTTLED = "throttled"
    BUSY = "busy"
    UNAVAILABLE = "unavailable"
    BODY_TOO_LARGE = "body_too_large"
    BODY_TOO_SLOW = "body_too_slow"
    BODY_MALFORMED = "body_malformed"


@dataclass(frozen=True, slots=True)
class Admitted:
    """A caller whose credential held. `principal` is who it is, in the verifier's own words."""

    principal: str
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Refusal:
    """One answer with an empty body. `headers` holds only what this refusal adds."""

    status: int
    reason: Reason
    headers: Headers = ()
