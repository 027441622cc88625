"""What clients send. Only shapes are checked here; the rules of the fields are the services'."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StrictInt, Tag

from switchboard.domain.endpoint import (
    CORE_VERBS,
    DEFAULT_LEASE_MS,
    EndpointId,
    Protocol,
    Verb,
)
from switchboard.domain.queue import RingPolicy
from switchboard.domain.todo import DEFAULT_MAX_ATTEMPTS, DEFAULT_MAX_LAPSES
from switchboard.service.draft import TodoDraft
from switchboard.service.endpoints import EndpointDraft
from switchboard.service.todos import MAX_BULK


class Body(BaseModel):
    """Base of all: a field that nobody knows is a mistake to be told, not to be dropped."""

    model_config = ConfigDict(extra="forbid")


class NewTodoBody(Body):
    """A todo to add."""

    title: str = Field(description="What is to be done, in one line.")
    queue: str
    payload: Any = Field(None, description="Any JSON value, for the agent that claims it.")
    kind: str | None = None
    source: str | None = None
    priority: StrictInt = Field(0, description="-100 to 100; higher goes first.")
    idempotency_key: str | None = Field(
        None, description="Adding again under a live key adds nothing."
    )
    assignee: str | None = Field(None, description="Slug: only this endpoint may take it.")
    available_at: str | None = Field(None, description="RFC 3339; absent: at once.")
    max_attempts: StrictInt = DEFAULT_MAX_ATTEMPTS
    max_lapses: StrictInt = DEFAULT_MAX_LAPSES

    def draft(self, assignee_id: EndpointId | None) -> TodoDraft:
        """This todo as the service takes it; ValueError names `available_at`."""
        return TodoDraft(
            queue=self.queue,
            title=self.title,
            payload=self.payload,
            kind=self.kind,
            source=self.source,
            priority=self.priority,
            available_at_ms=_moment_ms(self.available_at),
            idempotency_key=self.idempotency_key,
            assignee_id=assignee_id,
            max_attempts=self.max_attempts,
            max_lapses=self.max_lapses,
        )


class NewTodosBody(Body):
    """Many todos, added in one transaction: all or none."""

    todos: list[NewTodoBody] = Field(min_length=1, max_length=MAX_BULK)


def _one_or_many(value: object) -> str:
    is_many = isinstance(value, dict) and "todos" in cast("dict[str, object]", value)
    return "many" if is_many else "one"


OneOrMany = Annotated[
    Annotated[NewTodoBody, Tag("one")] | Annotated[NewTodosBody, Tag("many")],
    Discriminator(_one_or_many),
]


class NewEndpointBody(Body):
    """An endpoint to vend."""

    agent: str = Field(description="The agent's name; the slug begins with it.")
    queues: list[str]
    verbs: list[Verb] = list(CORE_VERBS)
    protocol: Protocol = Protocol.AUTO
    lease_seconds: StrictInt = DEFAULT_LEASE_MS // 1000
    expires_in_seconds: StrictInt | None = Field(None, description="Absent: it does not expire.")
    replaces: str | None = Field(
        None, description="Slug: this endpoint is revoked, and what is assigned to it moves."
    )

    def draft(self) -> EndpointDraft:
        """This endpoint as the service takes it."""
        lifetime_s = self.expires_in_seconds
        return EndpointDraft(
            agent=self.agent,
            queues=tuple(self.queues),
            verbs=tuple(self.verbs),
            protocol=self.protocol,
            lease_ms=self.lease_seconds * 1000,
            lifetime_ms=None if lifetime_s is None else lifetime_s * 1000,
        )


class EndpointChange(Body):
    """What may change after a vend; what is absent stays."""

    protocol: Protocol | None = None
    lease_seconds: StrictInt | None = None


class QueueChange(Body):
    """What may change of a queue beside pausing it."""

    ring: RingPolicy


class Rotation(Body):
    """How a credential gives way to the next."""

    overlap_seconds: StrictInt = Field(
        0, description="How long the credential so far still works; 0: it ends at once."
    )


def _moment_ms(text: str | None) -> int | None:
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time needs its offset from UTC")
    return round(moment.timestamp() * 1000)
