"""What this package raises, sorted by what the caller can do about it.

    AgentTransportError
    ├── ConfigurationError     correct the named value, then build again
    ├── ListenFailed           free the address or choose another, then start a new listener
    ├── ApplicationFailed      repair the served application; nothing is listening
    ├── StoppedWhileStarting   nothing: somebody stopped it, and nothing was left behind
    └── AlreadyStarted         a defect in the caller: build a new object for a new start

Refusals of requests are values (`agent_transport.admission.Refusal`), never exceptions.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "AgentTransportError",
    "AlreadyStarted",
    "ApplicationFailed",
    "ConfigurationError",
    "ListenFailed",
    "StoppedWhileStarting",
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
    """This object has been started, or stopped, before. It serves once."""

    code = "already_started"


class StoppedWhileStarting(AgentTransportError):
    """A start that was under way when its object was stopped. Nothing will become ready later."""

    code = "stopped_while_starting"
