"""A service in the test's own process: real ledger, real socket, and a client of its API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent_transport.listen_address import bind, bound_address
from agent_transport.listener import Listener
from switchboard.app import Service
from switchboard.data_directory import DataDirectory
from switchboard.settings import load_settings


@dataclass
class Api:
    """The API as the local operator sees it."""

    client: httpx.AsyncClient
    service: Service
    token: str

    async def add(self, **fields: Any) -> dict[str, Any]:
        """A new todo."""
        body = {"title": "Say hello", "queue": "inbox", **fields}
        answer = await self.client.post("/todos", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()["todo"]

    async def vend(self, **fields: Any) -> dict[str, Any]:
        """A new endpoint's reveal."""
        body = {"agent": "scout", "queues": ["inbox"], **fields}
        answer = await self.client.post("/endpoints", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    directory = DataDirectory(tmp_path / "data")
    directory.prepare()
    settings = load_settings({"data_dir": str(directory.path), "port": "0"}, {}, tmp_path)
    listening = bind(settings.host, settings.port)
    async with Service(settings, directory, bound_address(listening), _never) as service:
        drain = (service.drain,)
        async with Listener(service.application, sockets=(listening,), on_drain=drain):
            token = directory.read_token() or ""
            async with httpx.AsyncClient(
                base_url=f"{service.local_url}/api/v1",
                headers={"authorization": f"Bearer {token}"},
                trust_env=False,
            ) as client:
                yield Api(client, service, token)


def _never() -> None:
    raise AssertionError("the ledger gave up")
