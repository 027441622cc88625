"""Lossy publish and subscribe between the service's parts. Nothing is stored, nothing is owed.

Subscribers must also find their work by reading the ledger: a signal may be lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from switchboard.domain.endpoint import EndpointId
from switchboard.domain.todo import Todo
from switchboard.domain.workspace import WorkspaceId


@dataclass(frozen=True, slots=True)
class TodoReady:
    """A todo came into ready.

    `found_by_all`: time alone made it ready, and every replica finds that by itself.
    """

    todo: Todo
    found_by_all: bool = False


@dataclass(frozen=True, slots=True)
class TodoReleased:
    """Its holder gave a todo back, now or to be ready later; told before `TodoReady`."""

    todo: Todo
    by: EndpointId


@dataclass(frozen=True, slots=True)
class QueueResumed:
    """A paused queue hands its todos out again: those that wait in it are ready now."""

    workspace_id: WorkspaceId
    queue: str


class EndWhy(StrEnum):
    """Why streams and waiting calls must end. A rotated credential counts as revoked."""

    REVOKED = "revoked"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class EndpointEnded:
    """An endpoint's credentials are dead: its streams and waiting calls end now."""

    workspace_id: WorkspaceId
    endpoint_id: EndpointId
    why: EndWhy


@dataclass(frozen=True, slots=True)
class CredentialEnded:
    """One credential of an endpoint is dead: the streams and calls that it opened end now."""

    workspace_id: WorkspaceId
    endpoint_id: EndpointId
    credential_id: str
    why: EndWhy


@dataclass(frozen=True, slots=True)
class SignalsMissed:
    """Signals of other replicas may have been lost: look at the ledger. Never leaves a process."""


Signal = TodoReady | TodoReleased | QueueResumed | EndpointEnded | CredentialEnded | SignalsMissed
Subscriber = Callable[[Signal], None]
"""Called on the event loop; must not block and must not raise."""


class Notifier(Protocol):
    """What publishers and subscribers see."""

    def publish(self, signal: Signal) -> None:
        """Tell every subscriber of this process now, those of other replicas soon and once.

        Never blocks, never raises.
        """
        ...

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Be told from now on; the returned function ends that and is safe twice."""
        ...
