"""Rows of the tables as the domain's values, whatever engine they come from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, make_dataclass
from functools import cache
from operator import itemgetter
from typing import Any
from typing import Protocol as Contract

from switchboard.domain.endpoint import (
    Caller,
    Endpoint,
    EndpointId,
    EndpointState,
    Protocol,
    Verb,
)
from switchboard.domain.queue import Queue, RingPolicy
from switchboard.domain.todo import Attempt, Event, Outcome, State, Step, Todo, Trust
from switchboard.domain.workspace import Operator, PersonId, Role, WorkspaceId
from switchboard.records import NewTodo, Session


class Row(Contract):
    """What the drivers' rows have in common: a column by its name, or by its position."""

    def __getitem__(self, key: Any, /) -> Any: ...

    def keys(self) -> Iterable[Any]: ...


_STATES = {state.value: state for state in State}
_TRUSTS = {trust.value: trust for trust in Trust}


def todo_of(row: Row) -> Todo:
    """A row with the columns of `todo`, in any order and among others."""
    return todos_of((row,))[0]


def todos_of(rows: Sequence[Row]) -> list[Todo]:
    """Rows of one statement.

    Read by position, for a lookup by name walks the columns. Built as drafts that then become
    todos, for a frozen class sets each of its 31 fields by a call: 3.1 µs a row against 0.2.
    """
    if not rows:
        return []
    values_of = _todo_values(tuple(rows[0].keys()))
    todos: list[Any] = []
    for row in rows:
        draft = _Draft(*values_of(row))
        draft.state = _STATES[draft.state]
        draft.trust = _TRUSTS[draft.trust]
        draft.__class__ = Todo
        todos.append(draft)
    return todos


_TODO_FIELDS = [one.name for one in fields(Todo)]
_Draft: Any = make_dataclass("_Draft", _TODO_FIELDS, slots=True)
"""A todo before it is frozen: the same slots, so that an object of the one can become the other."""


@cache
def _todo_values(columns: tuple[str, ...]) -> Callable[[Row], tuple[Any, ...]]:
    """Picks the fields of a todo, in their order, from a row with these columns."""
    return itemgetter(*(columns.index(name) for name in _TODO_FIELDS))


AFTER_EVERY_ID = "~"
"""Sorts after each identifier: where a list begins that goes from new to old."""

_NEW_FIELDS = [one.name for one in fields(NewTodo)]


def values_of_new(new: NewTodo) -> dict[str, Any]:
    """The fields as they are: `asdict` copies each deeply, which costs as much as the insert."""
    return {name: getattr(new, name) for name in _NEW_FIELDS}


def attempt_of(row: Row) -> Attempt:
    """A row of `attempt`, without its token's hash."""
    return Attempt(
        number=row["number"],
        holder_id=row["holder_id"],
        holder_name=row["holder_name"],
        started_at_ms=row["started_at_ms"],
        ended_at_ms=row["ended_at_ms"],
        outcome=None if row["outcome"] is None else Outcome(row["outcome"]),
        summary=row["summary"],
        note=row["note"],
    )


def event_of(row: Row) -> Event:
    """A row of `event`."""
    return Event(
        at_ms=row["at_ms"],
        step=Step(row["step"]),
        actor_kind=row["actor_kind"],
        actor_name=row["actor_name"],
        from_state=None if row["from_state"] is None else State(row["from_state"]),
        to_state=State(row["to_state"]),
        attempt=row["attempt"],
        detail=row["detail"],
    )


def endpoint_of(row: Row) -> Endpoint:
    """A row of `endpoint` with the prefix of its newest credential."""
    return Endpoint(
        id=EndpointId(row["id"]),
        workspace_id=WorkspaceId(row["workspace_id"]),
        slug=row["slug"],
        agent=row["agent"],
        queues=tuple(json.loads(row["queues"])),
        verbs=tuple(Verb(verb) for verb in json.loads(row["verbs"])),
        protocol=Protocol(row["protocol"]),
        lease_ms=row["lease_ms"],
        state=EndpointState(row["state"]),
        credential_prefix=row["credential_prefix"],
        previous_until_ms=row["previous_until_ms"],
        created_at_ms=row["created_at_ms"],
        expires_at_ms=row["expires_at_ms"],
        ended_at_ms=row["ended_at_ms"],
        last_seen_at_ms=row["last_seen_at_ms"],
    )


def caller_of(row: Row) -> Caller:
    """A row of `caller_by_credential`; its end is the earlier of endpoint's and credential's."""
    ends = [
        at_ms
        for at_ms in (row["expires_at_ms"], row["credential_expires_at_ms"])
        if at_ms is not None
    ]
    return Caller(
        endpoint_id=EndpointId(row["id"]),
        workspace_id=WorkspaceId(row["workspace_id"]),
        credential_id=row["credential_id"],
        slug=row["slug"],
        agent=row["agent"],
        queues=tuple(json.loads(row["queues"])),
        verbs=tuple(Verb(verb) for verb in json.loads(row["verbs"])),
        protocol=Protocol(row["protocol"]),
        lease_ms=row["lease_ms"],
        expires_at_ms=min(ends, default=None),
    )


def session_of(row: Row) -> Session:
    """A row of `session`."""
    return Session(
        id=row["id"],
        endpoint_id=EndpointId(row["endpoint_id"]),
        protocol_version=row["protocol_version"],
        client_info_json=row["client_info_json"],
        client_capabilities_json=row["client_capabilities_json"],
        created_at_ms=row["created_at_ms"],
        last_used_at_ms=row["last_used_at_ms"],
    )


def queue_of(row: Row) -> Queue:
    """A row of `queue`."""
    return Queue(
        workspace_id=WorkspaceId(row["workspace_id"]),
        name=row["name"],
        paused=bool(row["paused"]),
        ring=RingPolicy(row["ring"]),
        created_at_ms=row["created_at_ms"],
    )


def operator_of(row: Row) -> Operator:
    """A row of `operator_by_token`."""
    return Operator(
        token_id=row["token_id"],
        token_name=row["token_name"],
        person_id=PersonId(row["person_id"]),
        person_name=row["person_name"],
        workspace_id=WorkspaceId(row["workspace_id"]),
        role=Role(row["role"]),
    )
