"""MCP sessions as rows of the ledger."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import mcp_types as types
import orjson
from mcp.shared.exceptions import MCPError

from agent_transport.mcp import SessionRecord
from switchboard.clock import Clock
from switchboard.domain.endpoint import Caller, EndpointId
from switchboard.errors import StoreError
from switchboard.records import Session
from switchboard.service.validation import json_text
from switchboard.store import Endpoints

_log = logging.getLogger(__name__)
SESSIONS_PER_ENDPOINT = 256
MAX_CLIENT_BYTES = 16_384
"""What a client may have kept of itself; 256 sessions of 1 MiB each would fill the disk."""
REMEMBER_SPOKEN_MS = 600_000
STREAMS_USED_EVERY_MS = 300_000
"""An open stream is use; so often that is written down."""


class StoredSessions:
    """The carrier's session store. Uses are kept in memory and written by `flush`.

    `streaming` gives the sessions that have a stream open, of one endpoint or of all; `on_ended`
    is told of the sessions that end because their endpoint has too many.
    """

    def __init__(
        self,
        store: Endpoints,
        clock: Clock,
        *,
        streaming: Callable[[EndpointId | None], Iterable[str]] = lambda endpoint_id: (),
        on_ended: Callable[[Caller, str], None] = lambda caller, session_id: None,
        keep: int = SESSIONS_PER_ENDPOINT,
    ) -> None:
        self._store = store
        self._clock = clock
        self._streaming = streaming
        self._on_ended = on_ended
        self._keep = keep
        self._used: dict[str, int] = {}
        self._spoke: dict[str, int] = {}
        self._streams_used_ms = clock.now_ms()

    async def open(self, caller: Caller, record: SessionRecord) -> None:
        """Write a session whose initialize succeeded."""
        now_ms = self._clock.now_ms()
        session = Session(
            id=record.id,
            endpoint_id=caller.endpoint_id,
            protocol_version=record.protocol_version,
            client_info_json=_text("clientInfo", record.client_info),
            client_capabilities_json=_text("capabilities", record.client_capabilities),
            created_at_ms=now_ms,
            last_used_at_ms=now_ms,
        )
        self._spoke[record.id] = now_ms
        listening = tuple(self._streaming(caller.endpoint_id))
        if listening:  # one that only listens must not look like the longest idle one
            await self._store.touch_sessions([(session_id, now_ms) for session_id in listening])
        for ended in await self._store.open_session(session, self._keep):
            self._on_ended(caller, ended)

    async def find(self, caller: Caller, session_id: str) -> SessionRecord | None:
        """The open session of this endpoint."""
        session = await self._store.session(caller.endpoint_id, session_id)
        if session is None:
            return None
        self._used[session.id] = self._spoke[session.id] = self._clock.now_ms()
        return SessionRecord(
            session.id,
            session.protocol_version,
            orjson.loads(session.client_info_json),
            orjson.loads(session.client_capabilities_json),
        )

    async def close(self, caller: Caller, session_id: str) -> bool:
        """End a session."""
        self._used.pop(session_id, None)
        self._spoke.pop(session_id, None)
        return await self._store.close_session(caller.endpoint_id, session_id)

    def note_spoke(self, session_id: str) -> None:
        """A stream without a stored session opens: that is speaking too."""
        self._spoke[session_id] = self._clock.now_ms()

    def spoke_at(self, session_id: str) -> int:
        """When a session last sent something; 0 when that is long ago."""
        return self._spoke.get(session_id, 0)

    async def flush(self) -> None:
        """Write when sessions were used; a failed write is tried again with the next batch."""
        now_ms = self._clock.now_ms()
        oldest_ms = now_ms - REMEMBER_SPOKEN_MS
        self._spoke = {name: at_ms for name, at_ms in self._spoke.items() if at_ms > oldest_ms}
        if now_ms - self._streams_used_ms >= STREAMS_USED_EVERY_MS:
            self._streams_used_ms = now_ms
            self._used |= dict.fromkeys(self._streaming(None), now_ms)
        batch, self._used = self._used, {}
        if batch:
            try:
                await self._store.touch_sessions(tuple(batch.items()))
            except StoreError:
                _log.warning("session_use_unwritten", exc_info=True, extra={"sessions": len(batch)})
                self._used = batch | self._used


def _text(name: str, value: dict[str, Any]) -> str:
    text = json_text(value, MAX_CLIENT_BYTES)
    if text is None:
        told = f"{name}: at most {MAX_CLIENT_BYTES} bytes of JSON, flat and without NUL"
        raise MCPError(types.INVALID_PARAMS, told)
    return text
