"""The operator's side: the API, as any program would use it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from switchboard.demo.happened import DidNotHappen

QUEUE = "inbox"
TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Vended:
    """What a vend reveals, once."""

    slug: str
    prefix: str
    url: str
    credential: str = field(repr=False)


class Operator:
    """Calls the API with the local operator token."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def vend(self, agent: str, **fields: Any) -> Vended:
        """An endpoint for `agent` on the queue."""
        body = {"agent": agent, "queues": [QUEUE], **fields}
        answer = await self._answer("POST", "/endpoints", body)
        endpoint = answer["endpoint"]
        slug, prefix = endpoint["slug"], endpoint["credential_prefix"]
        return Vended(slug, prefix, answer["url"], answer["credential"])

    async def add(self, title: str) -> str:
        """The id of a new todo."""
        answer = await self._answer("POST", "/todos", {"title": title, "queue": QUEUE})
        return answer["todo"]["id"]

    async def todo(self, todo_id: str) -> dict[str, Any]:
        """A todo with its attempts."""
        return (await self._answer("GET", f"/todos/{todo_id}"))["todo"]

    async def revoke(self, slug: str) -> dict[str, Any]:
        """End an endpoint; what that did."""
        return await self._answer("POST", f"/endpoints/{slug}/revoke")

    async def _answer(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        answer = await self._http.request(method, path, json=body)
        if not answer.is_success:
            raise DidNotHappen(f"{method} {path} was answered with {answer.status_code}")
        return answer.json()


@asynccontextmanager
async def operating(url: str, token: str) -> AsyncGenerator[Operator]:
    """An operator of the service at `url`. A proxy of the environment is not asked."""
    headers = {"authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(
        base_url=f"{url}/api/v1", headers=headers, timeout=TIMEOUT_S, trust_env=False
    ) as http:
        yield Operator(http)
