"""Who caused a change. An actor is recorded with each event; it grants nothing by itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ActorKind(StrEnum):
    """The closed set of parties that may move a todo."""

    PERSON = "person"
    AGENT = "agent"
    WEBHOOK = "webhook"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Actor:
    """One party: a person (`ps_…`), an endpoint (`ep_…`), a webhook, or a part of the service.

    `name` is what people read: the person's name, the endpoint's slug, `sweeper`, `expirer`.
    """

    kind: ActorKind
    id: str
    name: str


SWEEPER = Actor(ActorKind.SYSTEM, "sweeper", "sweeper")
EXPIRER = Actor(ActorKind.SYSTEM, "expirer", "expirer")
CARRIER = Actor(ActorKind.SYSTEM, "carrier", "carrier")
