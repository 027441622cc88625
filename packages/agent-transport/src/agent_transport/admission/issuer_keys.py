"""The keys of one issuer, kept for a while. All ages are read from a monotonic clock.

younger than 10 min          used as they are
10 to 60 min                 asked for anew first; while the issuer fails, still used
60 min without a success     dropped: a withdrawn key must not admit for ever
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent_transport.admission.compact_token import CompactToken
from agent_transport.admission.fetch import FETCH_BOUND_S, FetchFailed
from agent_transport.admission.key_set import VerificationKey, choose_key
from agent_transport.admission.verifier import TokenFault

REFRESH_AGE_S = 600.0
DROP_AGE_S = 3600.0
FETCH_EVERY_S = 30.0
"""Whatever asks for a fetch, an invented key id above all, there is at most one in this time."""

_log = logging.getLogger("agent_transport.admission")
Keys = tuple[VerificationKey, ...]


@dataclass(frozen=True, slots=True)
class _Held:
    keys: Keys
    since_s: float


class IssuerKeys:
    """Finds the key of a token; fetches when needed, once for all who wait.

    `close` ends a fetch that is under way. It may be called twice.
    """

    def __init__(self, fetch: Callable[[], Awaitable[Keys]], clock: Callable[[], float]) -> None:
        self._fetch = fetch
        self._clock = clock
        self._held: _Held | None = None
        self._tried_at_s: float | None = None
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, token: CompactToken) -> VerificationKey | TokenFault:
        """The one key this token may be verified with, or why there is none."""
        if self._age_s() >= REFRESH_AGE_S:
            await self._refresh()
        found = self._choose(token)
        if found is TokenFault.UNKNOWN_KEY and await self._refresh():
            return self._choose(token)
        return found

    async def close(self) -> None:
        """End a fetch that is under way."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])

    def _age_s(self) -> float:
        return float("inf") if self._held is None else self._clock() - self._held.since_s

    def _choose(self, token: CompactToken) -> VerificationKey | TokenFault:
        if self._held is None or self._age_s() >= DROP_AGE_S:
            return TokenFault.KEYS_UNAVAILABLE
        return choose_key(self._held.keys, token)

    async def _refresh(self) -> bool:
        """Fetch, or wait for the fetch under way. False: it is too early for another one."""
        if self._fetching is None:
            now_s = self._clock()
            if self._tried_at_s is not None and now_s - self._tried_at_s < FETCH_EVERY_S:
                return False
            self._tried_at_s = now_s
            self._fetching = asyncio.create_task(self._fetch_once(), name="issuer keys")
        # Waited for from outside: a caller that gives up must not end it for the others.
        await asyncio.wait([self._fetching])
        return True

    async def _fetch_once(self) -> None:
        try:
            async with asyncio.timeout(FETCH_BOUND_S):
                keys = await self._fetch()
            self._held = _Held(keys, self._clock())
        except (FetchFailed, TimeoutError) as error:
            _log.warning("issuer_keys_not_fetched problem=%s", error or "no answer in time")
        except Exception:  # the top of a task: an injected fetch broke its contract
            _log.exception("issuer_keys_fetch_broke")
        finally:
            self._fetching = None
