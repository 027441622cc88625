"""What a handler works with: who asks, and the services they may use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, TypeVar, cast

from fastapi import Depends, Request

from switchboard.api.gate import OPERATOR_KEY
from switchboard.api.problem import Refused, of_code, of_refusal
from switchboard.api.views import EndpointView, Slugs, endpoint_view
from switchboard.domain.actor import Actor, ActorKind
from switchboard.domain.endpoint import Endpoint
from switchboard.domain.refusal import Code, Refusal
from switchboard.domain.todo import Todo, Trust
from switchboard.domain.workspace import Operator, WorkspaceId
from switchboard.service.draft import Origin
from switchboard.service.endpoints import EndpointDesk
from switchboard.service.last_seen import LastSeen
from switchboard.service.queues import QueueDesk
from switchboard.service.todos import Todos
from switchboard.store import People

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ApiServices:
    """The parts of the process that the API uses. `url_of` gives an endpoint's URL by its slug."""

    todos: Todos
    desk: EndpointDesk
    queues: QueueDesk
    people: People
    last_seen: LastSeen
    url_of: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Reach:
    """One request's operator within one workspace."""

    operator: Operator
    services: ApiServices

    @property
    def workspace_id(self) -> WorkspaceId:
        """The only workspace this request sees."""
        return self.operator.workspace_id

    @property
    def actor(self) -> Actor:
        """The person behind the token, as the author of a change."""
        return Actor(ActorKind.PERSON, self.operator.person_id, self.operator.person_name)

    @property
    def origin(self) -> Origin:
        """Where todos come from that this request adds: verified and attributed, so they ring."""
        return Origin(self.actor, Trust.OPERATOR, self.operator.person_id)

    async def slugs_in(self, todos: Iterable[Todo]) -> Slugs:
        """Slugs of the endpoints that `todos` name; read only if one is named."""
        if not any(todo.assignee_id or todo.holder_id for todo in todos):
            return {}
        endpoints = await self.services.desk.list_all(self.workspace_id)
        return {endpoint.id: endpoint.slug for endpoint in endpoints}

    def shown(self, endpoint: Endpoint) -> EndpointView:
        """An endpoint with the latest that this process has seen of it."""
        return endpoint_view(endpoint, self.services.last_seen.at_ms(endpoint.id))


def _reach(request: Request) -> Reach:
    return Reach(
        cast(Operator, request.scope[OPERATOR_KEY]), cast(ApiServices, request.app.state.services)
    )


Reached = Annotated[Reach, Depends(_reach)]
"""The parameter by which a handler asks for its reach."""


def found(value: T | None) -> T:
    """The value, or the answer 404."""
    if value is None:
        raise Refused(of_code(Code.NOT_FOUND))
    return value


def taken(answer: T | Refusal) -> T:
    """The outcome of a step, or the answer that says why it was not taken."""
    if isinstance(answer, Refusal):
        raise Refused(of_refusal(answer))
    return answer
