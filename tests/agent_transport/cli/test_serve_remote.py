"""Serving beyond this machine: tokens of a real authorization server, TLS ended by a proxy."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from mcp.client import Client
from mcp.client.auth import TokenStorage
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from tests.agent_transport.cli.authorization_server import (
    CLIENT,
    SCOPE,
    SECRET,
    RunningServer,
    authorization_server,
)
from tests.agent_transport.cli.served import Served, serving, texts, write_agent
from tests.agent_transport.cli.tls import Tls, proxy
from tests.specification import requirement


@dataclass
class Remote:
    """A served agent, the proxy's URL in front of it, and whoever issues tokens for it."""

    served: Served
    url: str
    issuer: RunningServer
    tls: Tls

    async def post(self, token: str | None, **headers: str) -> httpx2.Response:
        """A listing of the tools with this token."""
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        headers["Accept"] = "application/json, text/event-stream"
        body: dict[str, object] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        async with httpx2.AsyncClient(verify=self.tls.client, trust_env=False) as client:
            return await client.post(self.url, json=body, headers=headers)


@asynccontextmanager
async def remote(directory: Path, *allowed: str) -> AsyncGenerator[Remote]:
    write_agent(directory)
    tls = Tls(directory)
    async with authorization_server(tls) as issuer, proxy(tls) as front:
        issuer.resource = url = f"{front.url}/agents/scout"
        words = ("--public-url", url, "--issuer", issuer.issuer, "--scope", SCOPE, *allowed)
        trusting = {"SSL_CERT_FILE": str(tls.authority)}
        async with serving(directory, "agent:session", *words, env=trusting) as served:
            front.target = int(served.ready["listening"].rpartition(":")[2])
            yield Remote(served, url, issuer, tls)


class Kept(TokenStorage):
    """What the official client keeps."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@requirement("agent-transport/remote/verifier-decides")
async def test_the_official_client_finds_the_issuer_gets_a_token_and_comes_in(
    tmp_path: Path,
) -> None:
    async with remote(tmp_path, "--allow-client", CLIENT) as it:
        assert it.served.ready["url"] == it.url
        credentials = ClientCredentialsOAuthProvider(
            it.url, Kept(), CLIENT, SECRET, scope=SCOPE, issuer=it.issuer.issuer
        )
        async with (
            httpx2.AsyncClient(auth=credentials, verify=it.tls.client, trust_env=False) as http,
            Client(streamable_http_client(it.url, http_client=http)) as client,
        ):
            assert texts(await client.call_tool("agent_submit", {"prompt": "hi"})) == ["heard: hi"]
        assert len(it.issuer.issued) == 1
        assert await it.served.stop() == 0
        shown = it.served.errors.read_text() + (await it.served.rest_of_output()).decode()
        assert it.issuer.issued[0] not in shown


@requirement("agent-transport/remote/verifier-decides")
@pytest.mark.parametrize(
    ("allowed", "status"),
    [
        (("--allow-client", CLIENT), 200),
        (("--allow-subject", CLIENT), 200),
        (("--allow-client", "somebody"), 401),
        (("--allow-subject", "somebody"), 401),
    ],
)
async def test_a_good_token_opens_to_those_who_are_listed_and_to_nobody_else(
    allowed: tuple[str, str], status: int, tmp_path: Path
) -> None:
    async with remote(tmp_path, *allowed) as it:
        answer = await it.post(await it.issuer.token())
        assert answer.status_code == status, answer.text
        challenge = answer.headers.get("www-authenticate", "")
        assert ('error="invalid_token"' in challenge) == (status == 401)


@requirement("agent-transport/errors/challenge-only", "agent-transport/errors/empty-bodies")
async def test_a_refusal_tells_how_to_recover_and_nothing_more(tmp_path: Path) -> None:
    async with remote(tmp_path, "--allow-client", CLIENT) as it:
        origin, _, path = it.url.partition("/agents/")
        metadata = f"{origin}/.well-known/oauth-protected-resource/agents/{path}"
        tail = f'scope="{SCOPE}", resource_metadata="{metadata}"'
        missing = await it.post(None)
        assert (missing.status_code, missing.content) == (401, b"")
        assert missing.headers["www-authenticate"] == f"Bearer {tail}"
        wrong_scope = await it.post(await it.issuer.token("other"))
        assert (wrong_scope.status_code, wrong_scope.content) == (403, b"")
        expected = f'Bearer error="insufficient_scope", {tail}'
        assert wrong_scope.headers["www-authenticate"] == expected
        it.issuer.resource = "https://elsewhere.example/mcp"
        for_another = await it.post(await it.issuer.token())
        assert (for_another.status_code, for_another.content) == (401, b"")
        assert for_another.headers["www-authenticate"] == f'Bearer error="invalid_token", {tail}'
        refusals = it.served.errors.read_text()
    reasons = ("missing_token", "missing_scope", "wrong_audience")
    assert [reason in refusals for reason in reasons] == [True] * 3
    assert "127.0.0.1" not in refusals.split("serving ")[1].partition("\n")[2]
    assert not [token for token in it.issuer.issued if token in refusals]


@requirement("agent-transport/remote/no-loopback-bearer")
async def test_no_bearer_is_minted_and_one_of_a_loopback_host_is_refused(tmp_path: Path) -> None:
    async with remote(tmp_path, "--allow-client", CLIENT) as it:
        assert set(it.served.ready) == {"url", "listening"}
        assert (await it.post("0123456789abcdef" * 4)).status_code == 401


@requirement("agent-transport/remote/names-from-public-url")
async def test_a_host_that_is_the_listeners_own_is_refused(tmp_path: Path) -> None:
    async with remote(tmp_path, "--allow-client", CLIENT) as it:
        token = await it.issuer.token()
        assert (await it.post(token)).status_code == 200
        own = await it.post(token, Host=it.served.ready["listening"])
        assert (own.status_code, own.content) == (403, b"")
