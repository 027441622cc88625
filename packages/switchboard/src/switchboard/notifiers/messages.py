"""Signals as the text that replicas send each other: ids and names, never content or a secret.

Whoever can write to the database can write to the channel, so a text that is no message is
ignored, and what a message says of a todo is read from the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from switchboard.domain.endpoint import EndpointId
from switchboard.domain.todo import TodoId
from switchboard.domain.workspace import WorkspaceId
from switchboard.notifier import (
    CredentialEnded,
    EndpointEnded,
    EndWhy,
    QueueResumed,
    Signal,
    SignalsMissed,
    TodoReady,
    TodoReleased,
)

MAX_BYTES = 7_900
"""PostgreSQL refuses a notification of 8,000 bytes."""


@dataclass(frozen=True, slots=True)
class ReadyTodo:
    """A todo of this id came into ready somewhere."""

    todo_id: TodoId


@dataclass(frozen=True, slots=True)
class ReleasedTodo:
    """A todo of this id was given back somewhere."""

    todo_id: TodoId
    by: EndpointId


Told = ReadyTodo | ReleasedTodo | QueueResumed | EndpointEnded | CredentialEnded


@dataclass(frozen=True, slots=True)
class Message:
    """What one replica told at a stroke. `number` grows by one a message of a replica."""

    replica: str
    number: int
    told: tuple[Told, ...]


def told_of(signal: Signal) -> Told | None:
    """What others are told of a signal; None: nothing, they find it by themselves."""
    match signal:
        case TodoReady(todo, found_by_all):
            return None if found_by_all else ReadyTodo(todo.id)
        case TodoReleased(todo, by):
            return ReleasedTodo(todo.id, by)
        case SignalsMissed():
            return None
        case _:
            return signal


def texts(replica: str, first_number: int, told: Iterable[Told]) -> list[str]:
    """As few texts as will do, each short enough for a notification."""
    parts: list[list[str]] = []
    room = 0
    for item in dict.fromkeys(json.dumps(_fields(one), separators=(",", ":")) for one in told):
        if len(item) + 1 > room:
            parts.append([])
            room = MAX_BYTES - len(replica) - 40
        parts[-1].append(item)
        room -= len(item) + 1
    return [
        f'["{replica}",{number},[{",".join(part)}]]'
        for number, part in enumerate(parts, first_number)
    ]


def parse(text: str) -> Message | None:
    """The message; None when it is none."""
    try:
        replica, number, items = json.loads(text)
        return Message(str(replica), int(number), tuple(_all_told(items)))
    except (ValueError, TypeError, KeyError):
        return None


def _fields(told: Told) -> list[str]:
    match told:
        case ReadyTodo(todo_id):
            return ["ready", todo_id]
        case ReleasedTodo(todo_id, by):
            return ["released", todo_id, by]
        case QueueResumed(workspace_id, queue):
            return ["resumed", workspace_id, queue]
        case EndpointEnded(workspace_id, endpoint_id, why):
            return ["endpoint", workspace_id, endpoint_id, why]
        case CredentialEnded(workspace_id, endpoint_id, credential_id, why):
            return ["credential", workspace_id, endpoint_id, credential_id, why]


def _all_told(items: list[Any]) -> Iterator[Told]:
    for item in items:
        told = _told(item)
        if told is not None:
            yield told


def _told(item: list[str]) -> Told | None:
    match item:
        case ["ready", todo_id]:
            return ReadyTodo(TodoId(todo_id))
        case ["released", todo_id, by]:
            return ReleasedTodo(TodoId(todo_id), EndpointId(by))
        case ["resumed", workspace_id, queue]:
            return QueueResumed(WorkspaceId(workspace_id), queue)
        case ["endpoint", workspace_id, endpoint_id, why]:
            return EndpointEnded(WorkspaceId(workspace_id), EndpointId(endpoint_id), EndWhy(why))
        case ["credential", workspace_id, endpoint_id, credential_id, why]:
            workspace, endpoint = WorkspaceId(workspace_id), EndpointId(endpoint_id)
            return CredentialEnded(workspace, endpoint, credential_id, EndWhy(why))
        case _:  # a newer version of the service tells what this one does not know
            return None
