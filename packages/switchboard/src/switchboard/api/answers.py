"""The documents of the answers: each names what it holds, so that more can stand beside it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from switchboard.api.views import (
    EndpointView,
    QueueView,
    TodoHistoryView,
    TodoRowView,
    TodoView,
)


class CreatedTodo(BaseModel):
    """`created` false: a live todo with the same key exists and was left alone."""

    todo: TodoView
    created: bool


class CreatedTodos(BaseModel):
    """The outcome of each todo, in the order in which they were sent."""

    todos: list[CreatedTodo]


class TodoPage(BaseModel):
    """Newest first. `next_cursor` null: this is the end."""

    todos: list[TodoRowView]
    next_cursor: str | None


class OneTodo(BaseModel):
    """A todo after a step."""

    todo: TodoView


class OneTodoHistory(BaseModel):
    """A todo with its attempts and events."""

    todo: TodoHistoryView


class RevealedEndpoint(BaseModel):
    """What holds a credential: shown once, and never again."""

    endpoint: EndpointView
    url: str
    credential: str = Field(repr=False, description="Shown this once.")
    mcp_json: dict[str, Any] = Field(repr=False, description="The .mcp.json to paste.")


class ReplacedEndpoint(BaseModel):
    """What became of the endpoint in whose place a new one stands."""

    slug: str
    moved: int = Field(description="Todos that are assigned to the new endpoint now.")
    released: int = Field(description="Claims that went back to pending, for anybody.")
    failed: int = Field(description="Todos assigned to it whose queue the new one lacks.")
    sessions_closed: int


class VendedEndpoint(RevealedEndpoint):
    """A new endpoint. `replaced` null: it stands in nobody's place."""

    replaced: ReplacedEndpoint | None


class EndpointList(BaseModel):
    """Newest first."""

    endpoints: list[EndpointView]


class OneEndpoint(BaseModel):
    """An endpoint and the URL by which its agent connects."""

    endpoint: EndpointView
    url: str


class RevokedEndpoint(OneEndpoint):
    """What the revocation did."""

    released: int = Field(description="Claims that went back to pending.")
    failed: int = Field(description="Todos that were assigned to it alone.")
    sessions_closed: int


class QueueList(BaseModel):
    """By name."""

    queues: list[QueueView]


class OneQueue(BaseModel):
    """A queue after a step."""

    queue: QueueView
