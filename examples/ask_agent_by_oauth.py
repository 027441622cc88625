"""Ask an agent behind an OAuth server, as a program with credentials of its own.

    python examples/ask_agent_by_oauth.py PROMPT URL ISSUER SCOPE

CLIENT_ID and CLIENT_SECRET are taken from the environment; they are sent to the issuer alone.
"""

from __future__ import annotations

import asyncio
import os
import sys

import httpx2
from ask_agent import ask
from mcp.client import Client
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken


class Forgetful:
    """Keeps no token: this program asks once."""

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None: ...

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None: ...


async def main(prompt: str, url: str, issuer: str, scope: str) -> None:
    credentials = ClientCredentialsOAuthProvider(
        url,
        Forgetful(),
        os.environ["CLIENT_ID"],
        os.environ["CLIENT_SECRET"],
        scope=scope,
        issuer=issuer,
    )
    async with (
        httpx2.AsyncClient(auth=credentials, timeout=600) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        await ask(client, prompt)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
