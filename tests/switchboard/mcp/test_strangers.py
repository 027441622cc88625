"""What a caller that nobody vended an endpoint to may cost, and what it is told."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from agent_transport.admission import Rate
from agent_transport.socket_limits import SocketLimits
from switchboard.domain.endpoint import Caller
from switchboard.errors import StoreUnavailable
from tests.agent_transport.mcp.wire_client import request_bytes
from tests.switchboard.mcp.agent import Agent
from tests.switchboard.mcp.serving import Surface, serving

HEADERS_BYTES = 16 * 1024


def test_a_strangers_connection_is_bounded_in_weight_time_and_number() -> None:
    """The listener's own tests show that each bound holds; the service changes only the last."""
    limits = SocketLimits()
    assert (limits.header_bytes, limits.header_s, limits.body_s) == (HEADERS_BYTES, 10.0, 30.0)
    assert limits.connections == 4096


async def test_headers_that_weigh_too_much_are_refused_before_anybody_is_admitted(
    surface: Surface,
) -> None:
    agent = await surface.vend()
    weight = len(agent.bytes_of("ping"))
    heavy = await agent.post("ping", X_Weight="x" * HEADERS_BYTES)
    assert (heavy.status, heavy.body, heavy.headers["connection"]) == (431, b"", "close")
    endpoint = await surface.endpoint(agent)
    assert surface.app.last_seen.at_ms(endpoint.id) is None
    light = await agent.post("ping", X_Weight="x" * (HEADERS_BYTES - weight - 500))
    assert light.status == 400, "admitted, and told that a session is missing"


@pytest.fixture
def looked_up(surface: Surface, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every credential hash for which the ledger was asked."""
    asked: list[bytes] = []
    real = surface.store.caller_by_credential

    async def counted(credential_hash: bytes) -> Caller | None:
        asked.append(credential_hash)
        return await real(credential_hash)

    monkeypatch.setattr(surface.store, "caller_by_credential", counted)
    return asked


@pytest.mark.parametrize(
    "value",
    [
        "Bearer sbk_{short}",
        "Bearer sbo_{good}",
        "Bearer xxx_{good}",
        "Bearer SBK_{good}",
        "Bearer sbk_{good}=",
        "Bearer sbk_{good},sbk_{good}",
        "Bearer  ",
        "Basic sbk_{good}",
        "sbk_{good}",
        "Bearer " + "a" * 9_000,
    ],
)
async def test_a_malformed_credential_costs_no_look_at_the_ledger(
    surface: Surface, looked_up: list[bytes], value: str
) -> None:
    agent = await surface.vend()
    secret = agent.credential.removeprefix("sbk_")
    value = value.replace("{good}", secret).replace("{short}", secret[:-1])
    answer = await agent.post("ping", Authorization=value)
    assert (answer.status, looked_up) == (401, [])


async def test_cookies_and_queries_are_not_even_looked_up(
    surface: Surface, looked_up: list[bytes]
) -> None:
    agent = await surface.vend()
    raw = request_bytes(
        "POST",
        b"{}",
        agent.headers(Authorization="", Cookie=f"token={agent.credential}"),
        f"{agent.path}?access_token={agent.credential}",
    )
    assert (await agent.send(raw)).status == 401
    assert looked_up == []


async def test_a_path_below_an_endpoint_is_404_after_admission_and_charged_to_it(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, endpoint_rate=Rate(0.01, 3)) as surface:
        agent = await surface.vend()
        below = Agent(surface.port, agent.slug + "/below", agent.credential)
        unknown = Agent(surface.port, agent.slug + "/below", agent.credential[:-4] + "AAAA")
        answers = [await below.post("ping") for _ in range(4)]
        assert [answer.status for answer in answers] == [404, 404, 404, 429]
        for answer in answers:
            assert answer.body == b""
            assert "location" not in answer.headers
        assert (await agent.post("ping")).status == 429, "the same bucket"
        assert (await unknown.post("ping")).status == 401


@pytest.mark.parametrize(
    ("suffix", "status"),
    [("/", 200), ("?x=1", 200), ("/?x=1", 200), ("//", 404), ("/.", 404), ("/..", 404)],
)
async def test_a_trailing_slash_or_a_query_makes_no_other_endpoint_and_no_redirect(
    surface: Surface, suffix: str, status: int
) -> None:
    agent = await surface.agent()
    same = Agent(surface.port, agent.slug + suffix, agent.credential, session=agent.session)
    answer = await same.post("ping")
    assert answer.status == status
    assert "location" not in answer.headers


async def test_while_the_ledger_cannot_be_read_nobody_is_let_in_and_sessions_survive(
    surface: Surface, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await surface.agent()

    async def broken(_: bytes) -> Caller | None:
        raise StoreUnavailable("busy") from sqlite3.OperationalError("locked")

    with monkeypatch.context() as patched:
        patched.setattr(surface.store, "caller_by_credential", broken)
        answers = [await agent.post("ping") for _ in range(20)]
        assert {(answer.status, answer.body) for answer in answers} == {(503, b"")}
        waits = {int(answer.headers["retry-after"]) for answer in answers}
        assert min(waits) >= 2
        assert len(waits) > 1, "not everybody comes back at the same moment"
    assert (await agent.post("ping")).status == 200


async def test_a_good_credential_is_let_in_while_its_address_is_throttled(tmp_path: Path) -> None:
    async with serving(tmp_path, address_rate=Rate(0.01, 1)) as surface:
        good = await surface.vend()
        bad = Agent(surface.port, good.slug, good.credential[:-4] + "AAAA")
        refused = await asyncio.gather(*(bad.post("ping") for _ in range(5)))
        assert sorted(answer.status for answer in refused) == [401, 429, 429, 429, 429]
        await good.initialize()
        assert (await good.post("ping")).status == 200
