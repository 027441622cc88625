"""What a browser is told: which pages may ask, send and read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agent_transport.admission import Rate, origin_rule
from tests.agent_transport.mcp.wire_client import Answer, request_bytes
from tests.switchboard.mcp.agent import Agent
from tests.switchboard.mcp.serving import Surface, serving

PAGE = "https://page.example"
ASKS = {"Access-Control-Request-Method": "POST"}


@pytest_asyncio.fixture
async def listed(tmp_path: Path) -> AsyncIterator[Surface]:
    async with serving(tmp_path, origin=origin_rule(PAGE), address_rate=Rate(0.01, 3)) as served:
        yield served


async def ask(agent: Agent, **extra: str) -> Answer:
    """What a browser sends before a page's request: never a credential."""
    headers = {"Host": f"127.0.0.1:{agent.port}", "Origin": PAGE, **ASKS}
    headers |= {name.replace("_", "-"): value for name, value in extra.items()}
    shown = {name: value for name, value in headers.items() if value}
    return await agent.send(request_bytes("OPTIONS", b"", shown, agent.path))


async def test_a_listed_page_is_told_what_it_may_send(listed: Surface) -> None:
    agent = await listed.vend()
    # more than an address may fail: it is no failure
    answers = [await ask(agent) for _ in range(5)]
    assert [(answer.status, answer.body) for answer in answers] == [(204, b"")] * 5
    told = answers[-1].headers
    assert told["access-control-allow-origin"] == PAGE
    assert told["vary"] == "Origin"
    assert {"GET", "POST", "DELETE"} == set(told["access-control-allow-methods"].split(", "))
    sent = told["access-control-allow-headers"].lower().split(", ")
    for name in ("authorization", "content-type", "mcp-session-id", "mcp-protocol-version"):
        assert name in sent
    assert "access-control-allow-credentials" not in told
    assert (told["x-content-type-options"], told["cache-control"]) == ("nosniff", "no-store")


async def test_a_preflight_is_no_sign_of_life_and_tells_nothing_of_the_slug(
    listed: Surface,
) -> None:
    agent = await listed.vend()
    nobody = Agent(listed.port, "nobody-00000000", agent.credential)
    real, unreal = await ask(agent), await ask(nobody)
    assert real.headers | {"date": ""} == unreal.headers | {"date": ""}
    endpoint = await listed.endpoint(agent)
    assert listed.app.last_seen.at_ms(endpoint.id) is None


@pytest.mark.parametrize(
    "extra",
    [
        {"Origin": "https://page.example.evil"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Access_Control_Request_Method": ""},
    ],
    ids=["unlisted", "null", "no-origin", "no-question"],
)
async def test_every_other_options_is_a_failed_authentication(
    listed: Surface, extra: dict[str, str]
) -> None:
    agent = await listed.vend()
    answers = [await ask(agent, **extra) for _ in range(4)]
    assert [answer.status for answer in answers] == [401, 401, 401, 429]
    for answer in answers:
        assert answer.body == b""
        assert "access-control-allow-methods" not in answer.headers


async def test_a_preflight_under_a_foreign_name_is_refused(listed: Surface) -> None:
    answer = await ask(await listed.vend(), Host="evil.example")
    assert answer.status == 403


async def test_a_listed_page_reads_its_session_id_and_every_refusal(listed: Surface) -> None:
    agent = await listed.vend()
    opened = await agent.post(
        "initialize",
        {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "page", "version": "1"},
        },
        Origin=PAGE,
    )
    agent.session = opened.headers["mcp-session-id"]
    answers = [
        opened,
        await agent.post("ping", Origin=PAGE),
        await agent.post("ping", Origin=PAGE, Authorization=""),
        await Agent(listed.port, "x", agent.credential).post("ping", Origin=PAGE),
        await agent.post("ping", Origin=PAGE, Content_Type="text/plain"),
        await agent.verb("PUT", Origin=PAGE),
    ]
    assert [answer.status for answer in answers] == [200, 200, 401, 403, 415, 405]
    for answer in answers:
        assert answer.headers["access-control-allow-origin"] == PAGE
        assert "Mcp-Session-Id" in answer.headers["access-control-expose-headers"]
        assert answer.headers["vary"] == "Origin"


async def test_whoever_is_no_listed_page_gets_no_such_header(listed: Surface) -> None:
    agent = await listed.agent()
    for answer in (await agent.post("ping"), await agent.post("ping", Origin="https://b.example")):
        assert not [name for name in answer.headers if name.startswith("access-control")]
