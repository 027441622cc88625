"""Each setting does what the page says of it, on the whole service."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from agent_transport.listen_address import bind, bound_address
from agent_transport.listener import Listener
from switchboard.app import Service
from switchboard.data_directory import DataDirectory
from switchboard.settings import load_settings
from switchboard.settings_table import SETTINGS
from tests.raw_agent import INITIALIZE, RawAgent
from tests.service_process import serving as serving_process

MODERN = "2026-07-28"


@asynccontextmanager
async def told(tmp_path: Path, **settings: str) -> AsyncGenerator[httpx.AsyncClient]:
    """A service with these settings, and a client that is its operator."""
    directory = DataDirectory(tmp_path / "data")
    directory.prepare()
    flags = {"data_dir": str(directory.path), "port": "0", **settings}
    read = load_settings(flags, {}, tmp_path)
    listening = bind(read.host, read.port)
    async with (
        Service(read, directory, bound_address(listening), lambda: None) as service,
        Listener(service.application, sockets=(listening,), on_drain=(service.drain,)),
        httpx.AsyncClient(
            base_url=service.local_url,
            headers={"authorization": f"Bearer {directory.read_token()}"},
            trust_env=False,
        ) as client,
    ):
        yield client


async def vend(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    body = {"agent": "scout", "queues": ["inbox"], **fields}
    answer = await client.post("/api/v1/endpoints", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json() | {"url": f"{client.base_url}/mcp/{answer.json()['endpoint']['slug']}"}


async def test_the_rate_of_an_endpoint_is_the_settings(tmp_path: Path) -> None:
    rate = {"rate_endpoint_per_second": "0.01", "rate_endpoint_burst": "2"}
    async with (
        told(tmp_path, **rate) as client,
        RawAgent.connected(await vend(client)) as agent,
    ):
        assert (await agent.post("ping")).status_code == 200
        assert (await agent.post("ping")).status_code == 429


async def test_the_rate_of_failures_is_the_settings_and_told_addresses_by_a_trusted_proxy(
    tmp_path: Path,
) -> None:
    settings = {
        "rate_address_per_second": "0.01",
        "rate_address_burst": "1",
        "trusted_proxies": "127.0.0.1, 10.0.0.0/8",
    }
    async with told(tmp_path, **settings) as client:
        statuses: list[int] = []
        for address in ("192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.2, 10.1.2.3"):
            headers = {"authorization": "", "x-forwarded-for": address}
            statuses.append((await client.post("/mcp/x", headers=headers)).status_code)
        assert statuses == [401, 429, 401, 429]


async def test_a_forwarded_address_is_not_believed_of_anybody_else(tmp_path: Path) -> None:
    settings = {"rate_address_per_second": "0.01", "rate_address_burst": "1"}
    async with told(tmp_path, **settings) as client:
        for address, status in (("192.0.2.1", 401), ("192.0.2.2", 429)):
            headers = {"authorization": "", "x-forwarded-for": address}
            assert (await client.post("/mcp/x", headers=headers)).status_code == status


async def test_a_payload_and_a_result_are_bounded_by_the_setting(tmp_path: Path) -> None:
    async with told(tmp_path, max_json_bytes="1024") as client:
        todo: dict[str, Any] = {"title": "Big", "queue": "inbox"}
        fits = await client.post("/api/v1/todos", json=todo | {"payload": "x" * 1022})
        assert fits.status_code == 201
        beyond = await client.post("/api/v1/todos", json=todo | {"payload": "x" * 1023})
        assert (beyond.status_code, beyond.json()["field"]) == (422, "payload")
        async with RawAgent.connected(await vend(client)) as agent:
            held = await agent.call("claim")
            named = {"id": held["id"], "lease_token": held["lease_token"]}
            refused = await agent.result("complete", **named, result="x" * 1023)
            assert refused["_meta"]["switchboard/error"]["code"] == "invalid_argument"
            await agent.call("complete", **named, result="x" * 1022)


async def test_listed_origins_may_call_and_others_may_not(tmp_path: Path) -> None:
    pages = "https://a.example, https://b.example:8443"
    async with told(tmp_path, allowed_origins=pages) as client:
        agent = await vend(client)
        for origin, status in (
            ("https://a.example", 200),
            ("https://b.example:8443", 200),
            ("https://b.example", 403),
            ("http://a.example", 403),
            ("https://a.example.evil", 403),
        ):
            headers = {
                "authorization": f"Bearer {agent['credential']}",
                "accept": "application/json, text/event-stream",
                "origin": origin,
            }
            body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
            answer = await client.post(agent["url"], headers=headers, json=body)
            assert answer.status_code == status, origin


async def test_clients_that_ring_on_a_session_stream_only_are_sent_back_to_one(
    tmp_path: Path,
) -> None:
    async with told(tmp_path, channel_clients="shy-") as client:
        agent = await vend(client)
        for name, status in (("shy-agent", 400), ("claude-code", 200)):
            meta = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            headers = {
                "authorization": f"Bearer {agent['credential']}",
                "accept": "application/json, text/event-stream",
                "mcp-protocol-version": MODERN,
                "mcp-method": "tools/list",
            }
            params = {"_meta": meta}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}
            answer = await client.post(agent["url"], headers=headers, json=body)
            assert answer.status_code == status, (name, answer.text)


async def test_caps_of_an_endpoint_and_of_the_listener_are_the_settings(tmp_path: Path) -> None:
    settings = {
        "sessions_per_endpoint": "1",
        "streams_per_endpoint": "1",
        "calls_per_endpoint": "1",
        "max_connections": "3",
        "log_level": "warning",
        "log_format": "console",
    }
    async with serving_process(tmp_path, settings=settings) as service:
        vended = await service.vend()
        async with RawAgent.connected(vended) as first, RawAgent.connected(vended) as second:
            assert (await first.post("ping")).status_code == 404, "its session was one too many"
            assert (await second.post("ping")).status_code == 200
            async with RawAgent.connected(vended), httpx.AsyncClient(trust_env=False) as fourth:
                assert (await fourth.get(f"{service.url}/healthz")).status_code == 503
        assert await service.stop() == 0
        assert service.log() == "", "nothing of it was worth a warning"


async def test_the_log_is_json_that_names_its_event_unless_told_otherwise(tmp_path: Path) -> None:
    async with serving_process(tmp_path, settings={"log_level": "info"}) as service:
        assert await service.stop() == 0
        events = [json.loads(line)["event"] for line in service.log().splitlines()]
    assert events[0] == "started"
    assert events[-1] == "stopped"


def test_every_setting_is_one_that_these_tests_or_others_name() -> None:
    """A new setting that nothing shows at work is a promise that nobody keeps."""
    told_of = "".join(
        path.read_text("utf-8") for path in Path(__file__).parent.glob("**/test_*.py")
    )
    words = set(re.findall(r"\w+", told_of))
    assert not [one.name for one in SETTINGS if one.name not in words]
