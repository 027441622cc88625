"""The service as a whole, in the test's own process: its order of start and end."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import httpx
import pytest

from agent_transport.listen_address import ListenAddress, bind, bound_address
from agent_transport.listener import Listener
from switchboard.app import Service
from switchboard.data_directory import DataDirectory
from switchboard.errors import SchemaMismatch
from switchboard.public_address import allowed_origins, host_rule, local_url
from switchboard.settings import load_settings


def _service(tmp_path: Path, address: ListenAddress) -> Service:
    directory = DataDirectory(tmp_path / "data")
    directory.prepare()
    settings = load_settings({"data_dir": str(directory.path)}, {}, tmp_path)
    return Service(settings, directory, address, lambda: None)


async def test_draining_is_told_by_readyz_while_the_process_lives(tmp_path: Path) -> None:
    listening = bind("127.0.0.1", 0)
    async with (
        _service(tmp_path, bound_address(listening)) as service,
        Listener(service.application, sockets=(listening,)),
        httpx.AsyncClient(base_url=service.local_url, trust_env=False) as client,
    ):
        assert (await client.get("/readyz")).status_code == 200
        await service.drain()
        assert (await client.get("/readyz")).status_code == 503
        assert (await client.get("/healthz")).status_code == 200


async def test_a_service_that_cannot_start_leaves_nothing_running(tmp_path: Path) -> None:
    address = ListenAddress("127.0.0.1", 1)
    async with _service(tmp_path, address):
        pass
    with sqlite3.connect(tmp_path / "data" / "switchboard.db") as database:
        database.execute("PRAGMA user_version = 999999")
    database.close()
    service = _service(tmp_path, address)
    before = asyncio.all_tasks()
    with pytest.raises(SchemaMismatch):
        async with service:
            raise AssertionError("started on a database of another version")
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:87"),
        ("0.0.0.0", "http://127.0.0.1:87"),
        ("::1", "http://[::1]:87"),
        ("::", "http://[::1]:87"),
        ("192.0.2.7", "http://192.0.2.7:87"),
    ],
)
def test_commands_on_this_machine_reach_every_kind_of_bind(host: str, url: str) -> None:
    assert local_url(ListenAddress(host, 87)) == url


@pytest.mark.parametrize(
    ("host", "public_url", "accepted", "refused"),
    [
        (
            "127.0.0.1",
            None,
            ["127.0.0.1:87", "localhost:87", "[::1]:87"],
            ["localhost", "evil.example:87", "127.0.0.1"],
        ),
        (
            "0.0.0.0",
            "https://board.example/x",
            ["board.example", "board.example:443", "BOARD.example", "127.0.0.1:87"],
            ["localhost:87", "board.example:80", "evil.example"],
        ),
    ],
)
def test_the_host_rule_knows_the_public_name_and_the_own_address(
    tmp_path: Path, host: str, public_url: str | None, accepted: list[str], refused: list[str]
) -> None:
    settings = load_settings({"host": host, "public_url": public_url}, {}, tmp_path)
    rule = host_rule(settings, ListenAddress(host, 87))
    assert all(rule.admits([(b"host", name.encode())]) for name in accepted)
    assert not any(rule.admits([(b"host", name.encode())]) for name in refused)


def test_the_origin_rule_knows_the_services_own_pages_and_the_listed_ones(tmp_path: Path) -> None:
    flags = {"host": "0.0.0.0", "public_url": "https://board.example:443/x"}
    environ = {"SWITCHBOARD_ALLOWED_ORIGINS": "https://pages.example"}
    rule = allowed_origins(load_settings(flags, environ, tmp_path), ListenAddress("0.0.0.0", 87))
    for origin in (b"https://board.example", b"https://pages.example"):
        assert rule.admits([(b"origin", origin)])
    for origin in (b"null", b"http://board.example", b"https://board.example.evil"):
        assert not rule.admits([(b"origin", origin)])
