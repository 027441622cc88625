"""`subscriptions/listen` of the 2026-07-28 era: doorbells for a client that has no session.

The key in the filter is the channel's; a client that asks for anything else is told at once that
nothing of it is honoured.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types.version import LATEST_MODERN_VERSION

from agent_transport.mcp import (
    Call,
    CarrierObserver,
    EndReason,
    NotificationStream,
    SessionRecord,
    notification_frame,
    stamped,
)
from switchboard.domain.endpoint import Caller, EndpointId
from switchboard.mcp.open_streams import hears

_log = logging.getLogger(__name__)

CHANNEL = "claude/channel"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
BUFFER = 16
LOOK_EVERY_S = 60.0
"""A subscription sleeps at most so long; the comments that keep it open are the carrier's."""


class Listening:
    """The handler. `streams_of` gives how many streams an endpoint has open, of either era."""

    def __init__(
        self,
        bells: CarrierObserver,
        *,
        streams_of: Callable[[EndpointId], int],
        opened: Callable[[str], None],
        most: int,
    ) -> None:
        self._bells = bells
        self._streams_of = streams_of
        self._opened = opened
        self._most = most

    async def serve(
        self, ctx: Any, params: types.SubscriptionsListenRequestParams
    ) -> dict[str, Any]:
        """Serve one subscription until either side ends it."""
        call: Call[Caller] = ctx.request
        request_id: int | str = ctx.request_id
        if call.send_frame is None:
            raise MCPError(types.INVALID_REQUEST, "Accept text/event-stream to listen")
        if self._streams_of(call.caller.endpoint_id) >= self._most:
            raise MCPError(types.INTERNAL_ERROR, "Too many streams are open: close one first")
        asked = (params.notifications.model_extra or {}).get(CHANNEL) is True
        honoured = {CHANNEL: True} if asked and hears(call.caller) else {}
        stream = Subscription(call, request_id)
        acknowledgement = notification_frame(ACKNOWLEDGED, {"notifications": honoured})
        stream.offer(acknowledgement)
        if honoured:
            await self._ring_until_end(call, stream)
        else:
            await call.send_frame(stream.take_all())
        return {
            "resultType": "complete",
            "_meta": {SUBSCRIPTION_ID_META_KEY: request_id},
        }

    async def _ring_until_end(self, call: Call[Caller], stream: Subscription) -> None:
        forget = call.ended.on_set(lambda: stream.end(call.ended.reason or EndReason.CLOSED))
        self._opened(stream.session.id)
        self._bells.stream_opened(stream)
        try:
            await _pump(call, stream)
        except TimeoutError:
            _log.warning("stream_stalled", extra={"session": stream.session.id[:8]})
            call.ended.set(EndReason.DISCONNECTED)
        finally:
            forget()
            stream.end(EndReason.DISCONNECTED)
            self._bells.stream_closed(stream)


class Subscription(NotificationStream[Caller]):
    """A stream whose frames name the request that asked for them.

    It has a session's record in name only, so that rotation and log know it.
    """

    __slots__ = ("_subscription_id",)

    def __init__(self, call: Call[Caller], subscription_id: int | str) -> None:
        record = SessionRecord(secrets.token_hex(32), LATEST_MODERN_VERSION, {}, {})
        super().__init__(call.caller, record, buffer=BUFFER)
        self._subscription_id = subscription_id

    def offer(self, frame: bytes) -> bool:
        """Take a frame, or lose it."""
        return super().offer(stamped(frame, self._subscription_id))


async def _pump(call: Call[Caller], stream: Subscription) -> None:
    assert call.send_frame is not None
    while True:
        await stream.wait(LOOK_EVERY_S)
        chunk = stream.take_all()
        if chunk:
            await call.send_frame(chunk)
        elif stream.ended is not None:
            return
