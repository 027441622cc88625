"""An authorization server of a test: keys, tokens, documents, a clock, and a count of fetches."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import Algorithm, ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from agent_transport.admission.fetch import FetchFailed
from agent_transport.admission.jwt import JwtVerifier, build_jwt_verifier

ISSUER = "https://login.example/realm"
AUDIENCE = "https://agents.example/mcp"
METADATA_URL = "https://login.example/.well-known/oauth-authorization-server/realm"
OPENID_URL = "https://login.example/realm/.well-known/openid-configuration"
KEYS_URL = "https://login.example/realm/keys"
NOW_S = 1_800_000_000.0

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
SMALL_RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # too small
EC_KEY = ec.generate_private_key(ec.SECP256R1())
P384_KEY = ec.generate_private_key(ec.SECP384R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()

Jwk = dict[str, Any]


def _writer_of(key: Any) -> type[Algorithm]:
    if isinstance(key, rsa.RSAPrivateKey | rsa.RSAPublicKey):
        return RSAAlgorithm
    if isinstance(key, ec.EllipticCurvePrivateKey | ec.EllipticCurvePublicKey):
        return ECAlgorithm
    return OKPAlgorithm


def published(key: Any, key_id: str | None, **members: Any) -> Jwk:
    """The public half of a key as a JWK; members that are None are left out."""
    written: Jwk = json.loads(_writer_of(key).to_jwk(key.public_key()))
    written.pop("key_ops", None)
    return {n: v for n, v in {**written, "kid": key_id, **members}.items() if v is not None}


def private_jwk(key: Any, key_id: str) -> Jwk:
    """A key as it must never be published."""
    return {**json.loads(_writer_of(key).to_jwk(key)), "kid": key_id, "key_ops": ["verify"]}


KEYS = [
    published(RSA_KEY, "rsa", alg="RS256", use="sig"),
    published(EC_KEY, "ec", use="sig"),
    published(ED_KEY, "ed", key_ops=["verify"]),
]


def claims(**changes: Any) -> dict[str, Any]:
    """The claims of a good token; a change to None leaves the claim out."""
    good = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ada",
        "client_id": "cli",
        "exp": int(NOW_S) + 300,
        "iat": int(NOW_S),
        "scope": "agent:use",
    }
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


def token(
    key: Any = RSA_KEY,
    algorithm: str = "RS256",
    key_id: str | None = "rsa",
    *,
    header: dict[str, Any] | None = None,
    **changes: Any,
) -> str:
    headers = {"typ": "at+jwt", "kid": key_id, **(header or {})}
    kept = {name: value for name, value in headers.items() if value is not None}
    return jwt.encode(claims(**changes), key, algorithm=algorithm, headers=kept)


@dataclass
class Issuer:
    """What the server publishes at this moment, and how often it was asked.

    `asked` lists the documents that were fetched; a round that fails is listed too.
    """

    keys: list[Jwk] = field(default_factory=lambda: list(KEYS))
    is_down: bool = False
    asked: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    documents: dict[str, bytes] = field(default_factory=dict[str, bytes])
    now_s: float = 0.0
    wall_s: float = NOW_S

    def __post_init__(self) -> None:
        metadata = {"issuer": ISSUER, "jwks_uri": KEYS_URL}
        self.documents[METADATA_URL] = json.dumps(metadata).encode()

    @property
    def rounds(self) -> int:
        """How many times keys were asked for."""
        return sum(url == METADATA_URL for url, _ in self.asked)

    async def fetch(self, url: str, *, may_be_private: bool) -> bytes:
        self.asked.append((url, may_be_private))
        if self.is_down:
            raise FetchFailed("down")
        if url == KEYS_URL and url not in self.documents:
            return json.dumps({"keys": self.keys}).encode()
        if url not in self.documents:
            raise FetchFailed("status 404")
        return self.documents[url]

    def verifier(self, **settings: Any) -> JwtVerifier:
        values: dict[str, Any] = {
            "issuer": ISSUER,
            "public_url": AUDIENCE,
            "scopes": ["agent:use"],
            "subjects": ["ada"],
            "clients": ["robot"],
            "fetch": self.fetch,
            "clock": lambda: self.now_s,
            "wall_clock": lambda: self.wall_s,
        }
        return build_jwt_verifier(**{**values, **settings})
