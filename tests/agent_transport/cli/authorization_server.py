"""A real authorization server on loopback: Authlib's, issuing RFC 9068 access tokens.

One confidential client, `reporter`, may get tokens for one resource by its own credentials.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingParameterType=false
# pyright: reportUnknownParameterType=false, reportIncompatibleMethodOverride=false
# Authlib ships no types.

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx2
from authlib.oauth2.rfc6749 import AuthorizationServer, ClientMixin, grants
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload, OAuth2Request
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from joserfc.jwk import KeySet, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent_transport.listen_address import bind, bound_address
from agent_transport.listener import Listener
from tests.agent_transport.cli.tls import HOST, Tls, proxy

CLIENT, SECRET = "reporter", "of-the-reporter"
SCOPE = "agent:use"


@dataclass
class RunningServer:
    """`issuer` names it; tokens are for `resource`, which a test sets before it asks for one."""

    issuer: str
    tls: Tls
    resource: str = ""
    issued: list[str] = field(default_factory=list[str], repr=False)

    async def token(self, scope: str = SCOPE) -> str:
        """A token for the client, got as a client gets one."""
        credentials = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        async with httpx2.AsyncClient(verify=self.tls.client, trust_env=False) as client:
            answer = await client.post(
                f"{self.issuer}/token",
                content=urlencode({"grant_type": "client_credentials", "scope": scope}),
                headers={
                    "Authorization": f"Basic {credentials}",
                    "Content-Type": "application/x-www-form-urlencoded",
                },
            )
        assert answer.status_code == 200, answer.text
        return answer.json()["access_token"]


@asynccontextmanager
async def authorization_server(tls: Tls) -> AsyncGenerator[RunningServer]:
    """A server from entry to exit, behind TLS as OAuth demands."""
    async with proxy(tls) as front:
        server = RunningServer(front.url, tls)
        with bind(HOST, 0) as listening:
            front.target = bound_address(listening).port
            async with Listener(_application(server), sockets=[listening]):
                yield server


def _application(running: RunningServer) -> Any:
    keys = KeySet([RSAKey.generate_key(2048, {"kid": "1", "alg": "RS256", "use": "sig"})])
    server = _Server(running, keys)

    async def metadata(request: Request) -> Response:
        return JSONResponse(
            {
                "issuer": running.issuer,
                "token_endpoint": f"{running.issuer}/token",
                "authorization_endpoint": f"{running.issuer}/authorize",
                "jwks_uri": f"{running.issuer}/keys",
                "response_types_supported": ["code"],
                "grant_types_supported": ["client_credentials"],
                "scopes_supported": [SCOPE, "other"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            }
        )

    async def published(request: Request) -> Response:
        return JSONResponse(keys.as_dict(private=False))

    async def token(request: Request) -> Response:
        asked = OAuth2Request("POST", str(request.url).replace("http:", "https:"))
        asked.headers = {name.title(): value for name, value in request.headers.items()}
        asked.payload = BasicOAuth2Payload(
            {name: str(value) for name, value in (await request.form()).items()}
        )
        answer: Any = server.create_token_response(asked)
        return answer

    return Starlette(
        routes=[
            Route("/.well-known/oauth-authorization-server", metadata),
            Route("/keys", published),
            Route("/token", token, methods=["POST"]),
        ]
    )


class _Server(AuthorizationServer):
    def __init__(self, running: RunningServer, keys: KeySet) -> None:
        super().__init__(scopes_supported=[SCOPE, "other"])
        self._running = running
        self.register_grant(grants.ClientCredentialsGrant)
        self.register_token_generator("default", _Tokens(running, keys))

    def query_client(self, client_id: str) -> ClientMixin | None:
        return _Client() if client_id == CLIENT else None

    def save_token(self, token: Any, request: Any) -> None:
        self._running.issued.append(token["access_token"])

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Nobody listens."""

    def create_oauth2_request(self, request: OAuth2Request) -> OAuth2Request:
        return request

    def handle_response(self, status: int, body: Any, headers: Any) -> Response:
        return JSONResponse(body, status, dict(headers))


class _Tokens(JWTBearerTokenGenerator):
    def __init__(self, running: RunningServer, keys: KeySet) -> None:
        super().__init__(running.issuer)
        self._running = running
        self._keys = keys

    def get_jwks(self) -> KeySet:
        return self._keys

    def get_audiences(self, client: Any, user: Any, scope: Any) -> str:
        return self._running.resource


class _Client(ClientMixin):
    def get_client_id(self) -> str:
        return CLIENT

    def get_allowed_scope(self, scope: str) -> str:
        return scope

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == SECRET

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "client_secret_basic"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "client_credentials"
