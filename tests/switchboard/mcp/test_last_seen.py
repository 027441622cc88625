"""When an endpoint was last seen: what counts, who reads it when, and what its writing may cost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from agent_transport.admission import Rate
from switchboard.domain.endpoint import EndpointId
from switchboard.errors import StoreUnavailable
from tests.agent_transport.mcp.wire_client import request_bytes
from tests.raw_agent import RawAgent
from tests.service_process import serving as serving_process
from tests.specification import requirement
from tests.switchboard.mcp.agent import Agent
from tests.switchboard.mcp.serving import Surface, serving

Sent = Callable[[Agent], Awaitable[object]]


async def _oversized(agent: Agent) -> None:
    lines = agent.headers(Content_Length="9999999")
    assert (await agent.send(request_bytes("POST", b"", lines, agent.path))).status == 413


async def _unreadable(agent: Agent) -> None:
    raw = request_bytes("POST", b"{", agent.headers(), agent.path)
    assert (await agent.send(raw)).status == 400


async def _tool_error(agent: Agent) -> None:
    assert (await agent.refused("complete", id="td_" + "0" * 26))["code"] == "not_found"


async def _out_of_scope(agent: Agent) -> None:
    assert (await agent.refused("claim", queue="elsewhere"))["code"] == "forbidden"


async def _below(agent: Agent) -> None:
    below = Agent(agent.port, agent.slug + "/below", agent.credential)
    assert (await below.post("ping")).status == 404


async def _stream(agent: Agent) -> None:
    async with agent.stream():
        pass


async def _unknown_session(agent: Agent) -> None:
    assert (await agent.post("ping", Mcp_Session_Id="gone")).status == 404


async def _options(agent: Agent) -> None:
    assert (await agent.verb("OPTIONS")).status == 405


@requirement("SPEC-0014/bearer/last-seen")
@pytest.mark.parametrize(
    "send",
    [
        _oversized,
        _unreadable,
        _tool_error,
        _out_of_scope,
        _below,
        _stream,
        _unknown_session,
        _options,
    ],
)
async def test_a_good_credential_at_its_own_path_is_seen_whatever_follows(
    surface: Surface, send: Sent
) -> None:
    agent = await surface.agent()
    surface.clock.advance(5_000)
    await send(agent)
    endpoint = await surface.endpoint(agent)
    assert surface.app.last_seen.at_ms(endpoint.id) == surface.clock.now_ms()


async def test_a_throttled_request_is_a_sign_of_life(tmp_path: Path) -> None:
    async with serving(tmp_path, endpoint_rate=Rate(0.01, 1)) as surface:
        agent = await surface.agent()
        surface.clock.advance(5_000)
        assert (await agent.post("ping")).status == 429
        endpoint = await surface.endpoint(agent)
        assert surface.app.last_seen.at_ms(endpoint.id) == surface.clock.now_ms()


@pytest.mark.parametrize(
    "extra",
    [
        {"Host": "evil.example"},
        {"Origin": "https://evil.example"},
        {"Authorization": ""},
        {"Authorization": "Bearer sbk_" + "A" * 43},
    ],
    ids=["host", "origin", "none", "unknown"],
)
async def test_whoever_is_not_let_in_is_not_seen(surface: Surface, extra: dict[str, str]) -> None:
    agent = await surface.vend()
    assert (await agent.post("ping", **extra)).status in (401, 403)
    endpoint = await surface.endpoint(agent)
    assert surface.app.last_seen.at_ms(endpoint.id) is None


async def test_what_cannot_be_written_harms_no_call_and_is_written_later(
    surface: Surface, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await surface.agent()
    await surface.upkeep.flush()
    surface.clock.advance(5_000)

    async def broken(seen: Sequence[tuple[EndpointId, int]]) -> None:
        raise StoreUnavailable("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(surface.store, "stamp_last_seen", broken)
        assert (await agent.post("ping")).status == 200
        await surface.upkeep.flush()
        written = (await surface.endpoint(agent)).last_seen_at_ms
        assert written == surface.clock.now_ms() - 5_000
    await surface.upkeep.flush()
    assert (await surface.endpoint(agent)).last_seen_at_ms == surface.clock.now_ms()


async def test_what_was_seen_is_written_down_when_the_service_stops(tmp_path: Path) -> None:
    async with serving_process(tmp_path) as service:
        vended = await service.vend()
        path = f"/endpoints/{vended['endpoint']['slug']}"
        async with RawAgent.connected(vended):
            pass
        async with service.operator() as operator:
            seen_at = (await operator.get(path)).json()["endpoint"]["last_seen_at"]
        assert seen_at is not None
        assert await service.stop() == 0
    async with serving_process(tmp_path) as again, again.operator() as operator:
        assert (await operator.get(path)).json()["endpoint"]["last_seen_at"] == seen_at
