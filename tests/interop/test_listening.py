"""The Python SDK's client without a session: it asks for doorbells in its listen filter."""

from __future__ import annotations

import asyncio
from pathlib import Path

import mcp_types as types
import pytest
from mcp.client import Client

from tests.interop.test_python_client import Doorbell, connected, finish
from tests.service_process import serving

BOUND_S = 30.0


async def listen(client: Client) -> types.SubscriptionsListenResult:
    """Ask for doorbells, and return what the service says when it ends the subscription."""
    wanted = types.SubscriptionFilter.model_validate({"claude/channel": True})
    params = types.SubscriptionsListenRequestParams(notifications=wanted)
    request = types.SubscriptionsListenRequest(params=params)
    return await client.session.send_request(request, types.SubscriptionsListenResult)


@pytest.mark.parametrize("mode", ["auto", "2026-07-28"])
async def test_a_client_of_the_new_era_is_rung_on_its_subscription_until_the_service_ends_it(
    mode: str, tmp_path: Path
) -> None:
    doorbell = Doorbell()
    async with serving(tmp_path) as service:
        vended = await service.vend()
        waiting = await service.add()
        async with connected(vended, mode, doorbell) as client:
            assert client.protocol_version == "2026-07-28"
            listening = asyncio.create_task(listen(client))
            assert (await doorbell.next_bell()).meta["todo_id"] == waiting
            await finish(client, service, waiting)
            later = await service.add("Read it")
            bell = await doorbell.next_bell()
            assert bell.meta["todo_id"] == later
            assert "Read it" in bell.content
            assert await service.stop() == 0
            async with asyncio.timeout(BOUND_S):
                assert (await listening).result_type == "complete"
