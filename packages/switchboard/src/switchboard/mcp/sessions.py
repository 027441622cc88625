"""MCP sessions as rows of the ledger."""

from __future__ import annotations

from typing import Any

import orjson

from agent_transport.mcp import SessionRecord
from switchboard.clock import Clock
from switchboard.domain.endpoint import Caller
from switchboard.errors import StoreError
from switchboard.records import Session
from switchboard.store import Endpoints

SESSIONS_PER_ENDPOINT = 256


class StoredSessions:
    """The carrier's session store. Uses are kept in memory and written by `flush`."""

    def __init__(self, store: Endpoints, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._used: dict[str, int] = {}

    async def open(self, caller: Caller, record: SessionRecord) -> None:
        """Write a session whose initialize succeeded."""
        now_ms = self._clock.now_ms()
        session = Session(
            id=record.id,
            endpoint_id=caller.endpoint_id,
            protocol_version=record.protocol_version,
            client_info_json=_text(record.client_info),
            client_capabilities_json=_text(record.client_capabilities),
            created_at_ms=now_ms,
            last_used_at_ms=now_ms,
        )
        await self._store.open_session(session, SESSIONS_PER_ENDPOINT)

    async def find(self, caller: Caller, session_id: str) -> SessionRecord | None:
        """The open session of this endpoint."""
        session = await self._store.session(caller.endpoint_id, session_id)
        if session is None:
            return None
        self._used[session.id] = self._clock.now_ms()
        return SessionRecord(
            session.id,
            session.protocol_version,
            orjson.loads(session.client_info_json),
            orjson.loads(session.client_capabilities_json),
        )

    async def close(self, caller: Caller, session_id: str) -> bool:
        """End a session."""
        self._used.pop(session_id, None)
        return await self._store.close_session(caller.endpoint_id, session_id)

    async def flush(self) -> None:
        """Write when sessions were used; a failed write is tried again with the next batch."""
        batch, self._used = self._used, {}
        if batch:
            try:
                await self._store.touch_sessions(tuple(batch.items()))
            except StoreError:
                self._used = batch | self._used


def _text(value: dict[str, Any]) -> str:
    return orjson.dumps(value).decode()
