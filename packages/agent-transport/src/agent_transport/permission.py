"""Who may use which tool of a session, when there is nobody to ask."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from agent_transport.session import JsonObject

_log = logging.getLogger("agent_transport.session")


class Permission(StrEnum):
    """What a policy says of one call. ASK is a denial here: nobody is prompted over a transport."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


PermissionPolicy = Callable[[str, JsonObject], Permission]
"""Decides on one call from the tool's name and arguments. Quick, and it changes nothing.

A policy that raises has denied.
"""


@dataclass(frozen=True, slots=True)
class Permissions:
    """A `PermissionPolicy` by name. What is not listed gets `default`, which asks: so is denied.

    `Permissions({"read_file": "allow"})` opens one tool and no other.
    """

    by_tool: Mapping[str, Permission | str] = field(default_factory=dict[str, Permission | str])
    default: Permission | str = Permission.ASK

    def __post_init__(self) -> None:
        # Read now: a misspelt word must not wait for the call that it was to stop.
        read = {name: Permission(said) for name, said in self.by_tool.items()}
        object.__setattr__(self, "by_tool", read)
        object.__setattr__(self, "default", Permission(self.default))

    def __call__(self, tool: str, arguments: JsonObject) -> Permission:
        return Permission(self.by_tool.get(tool, self.default))


NOTHING_ALLOWED = Permissions()


def decide(policy: PermissionPolicy, tool: str, arguments: JsonObject) -> Permission:
    """What the policy says of this call; a policy that raises, or says nothing known, denies."""
    try:
        return Permission(policy(tool, arguments))
    except Exception:
        _log.exception("permission_policy_broke tool=%s", tool)
        return Permission.DENY
