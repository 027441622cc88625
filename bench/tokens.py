"""What it costs to verify one access token whose key is at hand."""

from __future__ import annotations

import json
import time
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from agent_transport.admission import Admitted
from agent_transport.admission.jwt import JwtVerifier, build_jwt_verifier

ALGORITHMS = ("RS256", "ES256", "EdDSA")
ISSUER = "https://login.example"
AUDIENCE = "https://agents.example/mcp"
NOW_S = 1_800_000_000.0


async def verification_cpu_ms(algorithm: str, tokens: int) -> float:
    """The processor time of one verification, over so many."""
    private, published = _key(algorithm)
    verifier = _verifier(published)
    token = jwt.encode(_claims(), private, algorithm=algorithm, headers={"typ": "at+jwt"})
    if not isinstance(await verifier.verify(token), Admitted):  # fetches the key as well
        raise SystemExit(f"a good {algorithm} token was refused")
    began_s = time.process_time()
    for _ in range(tokens):
        await verifier.verify(token)
    return (time.process_time() - began_s) / tokens * 1000


def _verifier(published: dict[str, Any]) -> JwtVerifier:
    documents = {
        f"{ISSUER}/.well-known/oauth-authorization-server": {
            "issuer": ISSUER,
            "jwks_uri": f"{ISSUER}/keys",
        },
        f"{ISSUER}/keys": {"keys": [published]},
    }

    async def fetch(url: str, *, may_be_private: bool) -> bytes:
        return json.dumps(documents[url]).encode()

    return build_jwt_verifier(
        issuer=ISSUER,
        public_url=AUDIENCE,
        scopes=["agent:use"],
        subjects=["ada"],
        fetch=fetch,
        clock=lambda: 0.0,
        wall_clock=lambda: NOW_S,
    )


def _claims() -> dict[str, Any]:
    return {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ada",
        "client_id": "cli",
        "exp": int(NOW_S) + 300,
        "iat": int(NOW_S),
        "scope": "agent:use",
    }


def _key(algorithm: str) -> tuple[Any, dict[str, Any]]:
    """A new private key, and its public half as an issuer publishes it."""
    if algorithm == "RS256":
        private: Any = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        return private, json.loads(RSAAlgorithm.to_jwk(private.public_key()))
    if algorithm == "ES256":
        private = ec.generate_private_key(ec.SECP256R1())
        return private, json.loads(ECAlgorithm.to_jwk(private.public_key()))
    private = ed25519.Ed25519PrivateKey.generate()
    return private, json.loads(OKPAlgorithm.to_jwk(private.public_key()))
