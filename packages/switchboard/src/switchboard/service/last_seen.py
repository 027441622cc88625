"""When endpoints were last seen, kept in memory and written in batches."""

from __future__ import annotations

import logging

from switchboard.domain.endpoint import EndpointId
from switchboard.errors import StoreError
from switchboard.store import Endpoints

_log = logging.getLogger(__name__)


class LastSeen:
    """Readers of this process see a stamp at once; the ledger some seconds later."""

    def __init__(self, store: Endpoints) -> None:
        self._store = store
        self._known: dict[EndpointId, int] = {}
        self._unwritten: dict[EndpointId, int] = {}

    def stamp(self, endpoint_id: EndpointId, at_ms: int) -> None:
        """An endpoint spoke. Costs two dictionary writes."""
        self._known[endpoint_id] = at_ms
        self._unwritten[endpoint_id] = at_ms

    def at_ms(self, endpoint_id: EndpointId) -> int | None:
        """The latest stamp of this process."""
        return self._known.get(endpoint_id)

    async def flush(self) -> None:
        """Write what is new. A failed write is tried again with the next batch."""
        batch, self._unwritten = self._unwritten, {}
        if not batch:
            return
        try:
            await self._store.stamp_last_seen(tuple(batch.items()))
        except StoreError:
            _log.warning("last_seen_unwritten", exc_info=True, extra={"endpoints": len(batch)})
            self._unwritten = batch | self._unwritten
