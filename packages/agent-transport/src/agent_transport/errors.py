"""What this package raises, sorted by what the caller can do about it.

    AgentTransportError
    ├── ConfigurationError     correct the named value, then build again
    ├── ListenFailed           free the address or choose another, then start a new listener
    ├── ApplicationFailed      repair the served application; nothing is listening
    ├── StartTimedOut          find what hangs, usually the session's catalog; then start anew
    ├── StoppedWhileStarting   nothing: somebody stopped it, and nothing was left behind
    ├── PeerGone               nothing: whoever should be served left before the start was done
    ├── CarrierFailed          repair what carries the bytes, then start anew
    ├── CloseFailed            nothing of this object can be relied on: end the process
    ├── AlreadyStarted         a defect in the caller: stop first, or build a new object
    ├── NotAttached            a defect in the caller: attach a session first
    ├── CatalogInvalid         rename or repair the named tool
    └── SessionError           what a session says of one call; the answer depends on which
        ├── SessionBusy        try again when the present turn is over
        ├── TurnNotRun         submit again if it still matters
        ├── TurnFailed         look into the session's own log
        ├── ToolFailed         do what its message says; a tool raises it to tell its caller why
        └── SessionClosed      nothing: the session is gone

Refusals of requests are values (`agent_transport.admission.Refusal`), never exceptions.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

__all__ = [
    "AgentTransportError",
    "AlreadyStarted",
    "ApplicationFailed",
    "CarrierFailed",
    "CatalogInvalid",
    "CloseFailed",
    "ConfigurationError",
    "ListenFailed",
    "NotAttached",
    "NotRunReason",
    "PeerGone",
    "SessionBusy",
    "SessionClosed",
    "SessionError",
    "StartTimedOut",
    "StoppedWhileStarting",
    "ToolFailed",
    "TurnFailed",
    "TurnNotRun",
]


class AgentTransportError(Exception):
    """The base of all errors of this package. `code` is stable, the message is for people."""

    code: ClassVar[str] = "agent_transport_error"


class ConfigurationError(AgentTransportError):
    """A value handed over at construction breaks a rule.

    The value itself stays out of the message: it may be a secret, or hold one.
    """

    code = "configuration_error"

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(f"{field}: {rule}")
        self.field = field
        self.rule = rule


class ListenFailed(AgentTransportError):
    """The address could not be bound. The cause is the operating system's error."""

    code = "listen_failed"

    def __init__(self, address: str, problem: str) -> None:
        super().__init__(f"cannot listen on {address}: {problem}")
        self.address = address


class ApplicationFailed(AgentTransportError):
    """The served application did not start, or did not start in time."""

    code = "application_failed"


class AlreadyStarted(AgentTransportError):
    """A start, or an attach, of what is running; or of what serves once and has been used."""

    code = "already_started"


class StoppedWhileStarting(AgentTransportError):
    """A start that was under way when its object was stopped. Nothing will become ready later."""

    code = "stopped_while_starting"


class StartTimedOut(AgentTransportError):
    """A start that was not done within its bound. Nothing was left running."""

    code = "start_timed_out"


class PeerGone(AgentTransportError):
    """The peer closed its end before the start was done. Nothing was left running."""

    code = "peer_gone"


class CarrierFailed(AgentTransportError):
    """The carrier ended by a fault of its own, not because it was stopped or its peer left."""

    code = "carrier_failed"


class CloseFailed(AgentTransportError):
    """What was stopped did not end within its bound, or ended with an error."""

    code = "close_failed"


class NotAttached(AgentTransportError):
    """A start without a session. After a stop a new attach is needed."""

    code = "not_attached"


class CatalogInvalid(AgentTransportError):
    """A session's catalog that cannot be served as it stands, and the tool because of which."""

    code = "catalog_invalid"

    def __init__(self, tool: str, problem: str) -> None:
        super().__init__(f"runtime tool {tool!r} {problem}")
        self.tool = tool


class SessionError(AgentTransportError):
    """The base of what a session says of one call. Callers read the message."""

    code = "session_error"


class SessionBusy(SessionError):
    """A turn is running, or too many wait already. Nothing was done."""

    code = "session_busy"


class NotRunReason(StrEnum):
    """Why a submitted turn has no response."""

    COALESCED = "coalesced"
    DROPPED = "dropped"
    CANCELLED = "cancelled"


class TurnNotRun(SessionError):
    """A submitted turn that never ran, or was cancelled before it had a response."""

    code = "turn_not_run"

    def __init__(self, reason: NotRunReason) -> None:
        super().__init__(f"the turn was {reason}")
        self.reason = reason


class TurnFailed(SessionError):
    """A turn that ran and broke. The cause is the session's own error; it is never told on."""

    code = "turn_failed"


class ToolFailed(SessionError):
    """A tool that could not do what was asked. Whoever called it reads the message."""

    code = "tool_failed"


class SessionClosed(SessionError):
    """The session has ended, or is ending."""

    code = "session_closed"
