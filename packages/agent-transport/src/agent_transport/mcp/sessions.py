"""Stored MCP sessions: what a carrier needs to know of one, and where it is kept.

A session is a row, not an object, so that a restarted process or another replica can serve it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

JsonObject = dict[str, Any]
C_contra = TypeVar("C_contra", contravariant=True)


def mint_session_id() -> str:
    """256 random bits in 64 visible characters. It is a name, never an authentication."""
    return secrets.token_hex(32)


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """Everything that was negotiated at initialize. JSON objects stand as the client sent them."""

    id: str
    protocol_version: str
    client_info: JsonObject = field(hash=False)
    client_capabilities: JsonObject = field(hash=False)

    @property
    def client_name(self) -> str:
        """The name the client gave itself; it is shown, never trusted."""
        name = self.client_info.get("name")
        return name if isinstance(name, str) else ""


def negotiated(result: Mapping[str, Any], params: JsonObject) -> SessionRecord:
    """The record of an initialize that succeeded with `result`, under a new id."""
    return SessionRecord(
        id=mint_session_id(),
        protocol_version=result["protocolVersion"],
        client_info=params.get("clientInfo") or {},
        client_capabilities=params.get("capabilities") or {},
    )


class SessionStore(Protocol[C_contra]):
    """Where sessions live. Called on every request, so reads should be cheap.

    An exception of any method becomes 503: the session survives, the client tries again. Only an
    `MCPError` of `open` is told to the client as it is: its handshake cannot be kept.
    """

    async def open(self, caller: C_contra, record: SessionRecord) -> None:
        """Keep a session whose initialize succeeded."""
        ...

    async def find(self, caller: C_contra, session_id: str) -> SessionRecord | None:
        """The open session of this caller; None for foreign, ended and unknown alike."""
        ...

    async def close(self, caller: C_contra, session_id: str) -> bool:
        """End a session; False when there was none."""
        ...
