"""Workspaces, the people in them, and the operator tokens that scripts use."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

WorkspaceId = NewType("WorkspaceId", str)
"""`ws_` and 26 characters. Every row belongs to one."""

PersonId = NewType("PersonId", str)
"""`ps_` and 26 characters."""


class Role(StrEnum):
    """What a person may do in a workspace; each role includes the ones before it."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    OWNER = "owner"


ROLE_RANK = {Role.VIEWER: 0, Role.OPERATOR: 1, Role.OWNER: 2}


@dataclass(frozen=True, slots=True)
class Workspace:
    """The unit that owns queues, endpoints and todos."""

    id: WorkspaceId
    name: str
    created_at_ms: int


@dataclass(frozen=True, slots=True)
class Person:
    """A human principal. `name` is shown beside what they did."""

    id: PersonId
    name: str
    created_at_ms: int


@dataclass(frozen=True, slots=True)
class Operator:
    """The holder of an operator token: one person, one workspace, one role."""

    token_id: str
    token_name: str
    person_id: PersonId
    person_name: str
    workspace_id: WorkspaceId
    role: Role

    def may(self, needed: Role) -> bool:
        """Whether this role includes `needed`."""
        return ROLE_RANK[self.role] >= ROLE_RANK[needed]
